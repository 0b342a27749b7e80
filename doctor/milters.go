package doctor

import (
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// milter is one of a list of milters (MILTER_README): an address, and what
// stands beside it in braces.
type milter struct {
	address string
	options map[string]string
}

func milters(list string) []milter {
	var all []milter
	for _, item := range items(list) {
		m := milter{address: item, options: map[string]string{}}
		if strings.HasPrefix(item, "{") {
			inner, _ := balanced(item)
			parts := items(inner)
			if len(parts) == 0 {
				continue
			}
			m.address = parts[0]
			for _, part := range options(parts[1:]) {
				name, value, _ := strings.Cut(part, "=")
				m.options[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
		all = append(all, m)
	}
	return all
}

// String is the milter as a list names it.
func (m milter) String() string {
	if len(m.options) == 0 {
		return m.address
	}
	text := "{ " + m.address
	for _, name := range slices.Sorted(maps.Keys(m.options)) {
		text += ", " + name + "=" + m.options[name]
	}
	return text + " }"
}

// options puts "name", "=", "value" together again, and takes braces off.
func options(parts []string) []string {
	var all []string
	for _, p := range parts {
		if strings.HasPrefix(p, "{") {
			p, _ = balanced(p)
		}
		last := len(all) - 1
		if last >= 0 && (strings.HasPrefix(p, "=") || strings.HasSuffix(all[last], "=")) {
			all[last] += p
			continue
		}
		all = append(all, p)
	}
	return all
}

// standing is how a service's list holds stile.
type standing struct {
	milter
	at      int  // the index in the list, -1 is nowhere
	again   bool // it is there twice
	behind  int  // milters that follow it
	outside bool // the path holds only for a service that is not chrooted
}

// stile looks for stile in a list that a service uses.
func (a *audit) stile(s *service, list string) standing {
	found := standing{at: -1}
	all := milters(list)
	for i, m := range all {
		ours, outside := a.ours(s, m.address)
		if !ours {
			continue
		}
		if found.at >= 0 {
			found.again = true
		}
		found.milter, found.at, found.outside = m, i, outside
	}
	if found.at >= 0 {
		found.behind = len(all) - 1 - found.at
	}
	return found
}

// ours reports whether an address of the service's is where stile listens.
func (a *audit) ours(s *service, address string) (ours, outside bool) {
	kind, at, _ := strings.Cut(address, ":")
	listen := a.Config.Listen
	switch kind {
	case "unix", "local":
		if listen.Network == "tcp" {
			return false, false
		}
		path := at
		if !filepath.IsAbs(at) || s.chroot {
			path = a.pf.queue(at)
		}
		if samePath(path, a.socketPath()) {
			return true, false
		}
		// Chrooted, it is another place; whoever wrote it meant stile.
		return s.chroot && samePath(at, a.socketPath()), true
	case "inet":
		return listen.Network == "tcp" && sameHostPort(at, listen.Address), false
	}
	return false, false
}

// socketPath is where stile's socket lies. What systemd hands over has no path
// in the config; then it is where the unit puts it.
func (a *audit) socketPath() string {
	if a.Config.Listen.Network == "unix" {
		return a.Config.Listen.Address
	}
	return a.pf.queue("stile", "stile.sock")
}

// definition is stile as a service's list of milters may name it.
func (a *audit) definition(s *service) string {
	for _, name := range slices.Sorted(maps.Keys(a.pf.main)) {
		if strings.HasSuffix(name, "_milter") && a.stile(s, s.get(name)).at == 0 {
			return "$" + name
		}
	}
	return milter{a.address(), map[string]string{"default_action": "tempfail"}}.String()
}

// address is where stile listens, as Postfix writes it.
func (a *audit) address() string {
	address := "inet:" + a.Config.Listen.Address
	if a.Config.Listen.Network != "tcp" {
		path := a.socketPath()
		if inside, err := filepath.Rel(a.pf.queue(), path); err == nil && !strings.HasPrefix(inside, "..") {
			path = inside // holds whether the service is chrooted or not
		}
		address = "unix:" + path
	}
	return address
}

func samePath(x, y string) bool {
	if filepath.Clean(x) == filepath.Clean(y) {
		return true
	}
	x, errX := filepath.EvalSymlinks(x)
	y, errY := filepath.EvalSymlinks(y)
	return errX == nil && errY == nil && x == y
}

// sameHostPort compares a socket as Postfix writes it with host:port.
func sameHostPort(x, y string) bool {
	hostX, portX, errX := net.SplitHostPort(x)
	hostY, portY, errY := net.SplitHostPort(y)
	return errX == nil && errY == nil && portX == portY && loopbackName(hostX) == loopbackName(hostY)
}

// loopbackName is one name for this host's own.
func loopbackName(host string) string {
	if host == "localhost" || host == "::1" || host == "127.0.0.1" {
		return "localhost"
	}
	return host
}
