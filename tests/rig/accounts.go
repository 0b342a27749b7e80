package rig

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// Accounts of Debian's base-passwd, which is essential: they are there on every
// installation. Postfix wants an owner of its queue that is neither root nor
// $default_privs, and a group that neither of these two is in.
const (
	queueOwner  = "uucp"     // mail_owner
	queueGroup  = "operator" // setgid_group
	stileOwner  = "news"     // runs stile
	mailOwner   = "nobody"   // owns what is delivered
	wantAccount = "rig: account %s of Debian's base-passwd: %w"
)

// ids are the numbers of the accounts above.
type ids struct {
	queueUID, queueGID int // queueGID: the owner's own group
	setGID             int
	stileUID, stileGID int
	mailUID            int
}

// stileAccount is the account that runs stile where there is no Postfix: our
// own, if we are not root.
func stileAccount() (ids, error) {
	if os.Geteuid() == 0 {
		return accounts()
	}
	return ids{stileUID: os.Geteuid(), stileGID: os.Getegid()}, nil
}

func accounts() (ids, error) {
	var n ids
	for _, a := range []struct {
		name     string
		uid, gid *int
	}{
		{queueOwner, &n.queueUID, &n.queueGID},
		{stileOwner, &n.stileUID, &n.stileGID},
		{mailOwner, &n.mailUID, nil},
	} {
		u, err := user.Lookup(a.name)
		if err != nil {
			return ids{}, fmt.Errorf(wantAccount, a.name, err)
		}
		if *a.uid, err = strconv.Atoi(u.Uid); err != nil {
			return ids{}, fmt.Errorf(wantAccount, a.name, err)
		}
		if a.gid == nil {
			continue
		}
		if *a.gid, err = strconv.Atoi(u.Gid); err != nil {
			return ids{}, fmt.Errorf(wantAccount, a.name, err)
		}
	}
	g, err := user.LookupGroup(queueGroup)
	if err != nil {
		return ids{}, fmt.Errorf(wantAccount, queueGroup, err)
	}
	if n.setGID, err = strconv.Atoi(g.Gid); err != nil {
		return ids{}, fmt.Errorf(wantAccount, queueGroup, err)
	}
	return n, nil
}
