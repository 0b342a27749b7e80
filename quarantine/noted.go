package quarantine

import (
	"sync"
	"time"
)

// maxNoted bounds the keys that are known without asking the database. It is
// far less than the number that the database keeps, so a key is forgotten here
// before it is there.
const maxNoted = 1000

// noted is when keys were last remembered. A friend's key comes with every
// message of hers. The zero value is empty.
type noted struct {
	mu sync.Mutex
	at map[string]time.Time // by keyName
}

// after reports whether the key was remembered after that time.
func (n *noted) after(name []byte, t time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.at[string(name)]
	return ok && at.After(t)
}

func (n *noted) add(name []byte, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil || len(n.at) >= maxNoted {
		n.at = make(map[string]time.Time)
	}
	n.at[string(name)] = at
}
