package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// socket looks at whether Postfix can reach stile, and who else can.
func (a *audit) socket() {
	if a.Config.Listen.Network == "tcp" {
		a.answers("tcp", a.Config.Listen.Address)
		return
	}
	path := a.socketPath()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		a.add("socket-missing", nil, "there is no "+path)
		return
	}
	if errors.Is(err, fs.ErrPermission) {
		return // see unprivileged
	}
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		a.add("socket-missing", nil, path+" is no socket that can be looked at")
		return
	}
	a.answers("unix", path)
	owner, err := lookupAccount(a.pf.get("mail_owner"))
	if err != nil {
		return // Postfix does not start then
	}
	if at, need := blocked(path, owner); at != "" {
		a.add("socket-unreachable", vars{"path": at, "group": owner.group, "mode": "g+" + need},
			fmt.Sprintf("%s may not pass %s (%s)", a.pf.get("mail_owner"), at, modeOf(at)))
	}
	if at, _ := blocked(path, account{uid: -1}); at == "" {
		a.add("socket-open", vars{"path": path}, fmt.Sprintf("every account can connect to %s (%s)", path, modeOf(path)))
	}
}

// answers connects as Postfix does.
func (a *audit) answers(network, address string) {
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err == nil {
		_ = conn.Close()
		return
	}
	if !errors.Is(err, fs.ErrPermission) { // then another account was to be asked
		a.add("socket-missing", nil, "nobody answers at "+address)
	}
}

// account is whom the system knows by a user's name, as Postfix's programs run:
// with all groups of it.
type account struct {
	uid   int
	gids  []int
	group string // the name of the first
}

func lookupAccount(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, err
	}
	found := account{uid: uid, group: u.Gid}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		found.group = g.Name
	}
	ids, err := u.GroupIds()
	if err != nil {
		ids = []string{u.Gid}
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			found.gids = append(found.gids, n)
		}
	}
	return found, nil
}

// blocked is the first part of a socket's path that the account may not pass,
// and which permission it lacks; "" is none. Access control lists are not seen.
func blocked(path string, who account) (at, need string) {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		at := "/" + filepath.Join(parts[:i+1]...)
		bit, need := fs.FileMode(1), "x"
		if i == len(parts)-1 {
			bit, need = 2, "w" // connect(2)
		}
		info, err := os.Stat(at)
		if err != nil {
			return at, need
		}
		if permission(info, who)&bit == 0 {
			return at, need
		}
	}
	return "", ""
}

// permission is the three bits that hold for the account.
func permission(info fs.FileInfo, who account) fs.FileMode {
	mode := info.Mode().Perm()
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(stat.Uid) == who.uid:
		return mode >> 6
	case ok && slices.Contains(who.gids, int(stat.Gid)):
		return mode >> 3 & 7
	}
	return mode & 7
}

func modeOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "cannot be looked at"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Mode().String()
	}
	return fmt.Sprintf("%s, owner %s, group %s", info.Mode(), userName(stat.Uid), groupName(stat.Gid))
}

func userName(id uint32) string {
	if u, err := user.LookupId(strconv.FormatUint(uint64(id), 10)); err == nil {
		return u.Username
	}
	return strconv.FormatUint(uint64(id), 10)
}

func groupName(id uint32) string {
	if g, err := user.LookupGroupId(strconv.FormatUint(uint64(id), 10)); err == nil {
		return g.Name
	}
	return strconv.FormatUint(uint64(id), 10)
}
