package dns

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

// Bounds of the cache. Keys and names without a record have their own room, so
// that asking for names that do not exist pushes no key out.
const (
	maxKeyTTL      = time.Hour
	maxNegativeTTL = time.Minute
	maxEntries     = 10000   // of each kind
	maxBytes       = 8 << 20 // of each kind
	entryBytes     = 200     // what an entry costs beside its text, about
)

// cache keeps answers for as long as their TTL says.
type cache struct {
	mu   sync.Mutex
	keys room
	none room
}

// room is a bounded set of entries, the least recently used of which goes first.
type room struct {
	entries int // bound
	bytes   int // bound
	held    int // bytes
	byName  map[string]*list.Element
	order   *list.List // of *entry
}

type entry struct {
	name    string
	txt     []string
	expires time.Time
}

func (e *entry) size() int {
	n := entryBytes + len(e.name)
	for _, s := range e.txt {
		n += len(s)
	}
	return n
}

func newCache() *cache {
	return &cache{keys: newRoom(maxEntries, maxBytes), none: newRoom(maxEntries, maxBytes)}
}

func newRoom(entries, bytes int) room {
	return room{entries: entries, bytes: bytes, byName: make(map[string]*list.Element), order: list.New()}
}

// get is the answer kept for name, false if none is or its time is over.
func (c *cache) get(name string, now time.Time) ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.keys.get(name, now); e != nil {
		return slices.Clone(e.txt), true
	}
	return nil, c.none.get(name, now) != nil
}

// put keeps an answer, for an hour at most, or a minute if there is no record.
// It takes the place of an older one of either kind.
func (c *cache) put(name string, a answer, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys.drop(name)
	c.none.drop(name)
	if a.ttl <= 0 {
		return
	}
	if len(a.txt) == 0 {
		c.none.put(&entry{name: name, expires: now.Add(min(a.ttl, maxNegativeTTL))})
		return
	}
	c.keys.put(&entry{name, slices.Clone(a.txt), now.Add(min(a.ttl, maxKeyTTL))})
}

func (r *room) get(name string, now time.Time) *entry {
	el, ok := r.byName[name]
	if !ok {
		return nil
	}
	e := el.Value.(*entry)
	if !now.Before(e.expires) {
		r.drop(name)
		return nil
	}
	r.order.MoveToBack(el)
	return e
}

func (r *room) put(e *entry) {
	r.byName[e.name] = r.order.PushBack(e)
	r.held += e.size()
	for len(r.byName) > r.entries || r.held > r.bytes {
		r.drop(r.order.Front().Value.(*entry).name)
	}
}

func (r *room) drop(name string) {
	el, ok := r.byName[name]
	if !ok {
		return
	}
	r.held -= r.order.Remove(el).(*entry).size()
	delete(r.byName, name)
}
