package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stile/contrib/postfix"
)

// mta is what init takes from Postfix's configuration.
type mta struct {
	found        bool
	dir          string // of main.cf, "" is postconf's own
	hostname     string
	delimiter    string
	queue        string
	destinations []string // names that mean this host
	addresses    []net.IP // that mean it in an address literal
}

// postconfTakes bounds one run of a program of Postfix's.
const postconfTakes = 30 * time.Second

// findMTA asks postconf(1). Without Postfix the values are those of a new one.
func findMTA(ctx context.Context, dir string) (*mta, error) {
	m := &mta{dir: dir, delimiter: "+", queue: "/var/spool/postfix"}
	if _, err := exec.LookPath("postconf"); err != nil {
		if m.hostname, err = os.Hostname(); err != nil {
			return nil, errors.New("the host has no name; give one with --hostname")
		}
		return m, nil
	}
	m.found = true
	values := map[string]string{}
	for _, name := range []string{"myhostname", "recipient_delimiter", "queue_directory", "mydestination", "inet_interfaces", "proxy_interfaces"} {
		value, err := m.postconf(ctx, name)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	m.hostname, m.delimiter, m.queue = values["myhostname"], values["recipient_delimiter"], values["queue_directory"]
	for _, name := range words(values["mydestination"]) {
		// A table cannot be listed here, and a file's names are the admin's to add.
		if !strings.ContainsAny(name, ":/") {
			m.destinations = append(m.destinations, strings.ToLower(name))
		}
	}
	m.addresses = interfaceAddresses(words(values["inet_interfaces"] + " " + values["proxy_interfaces"]))
	return m, nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

// postconf is the expanded value of a parameter.
func (m *mta) postconf(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, postconfTakes)
	defer cancel()
	args := []string{"-xh", name}
	if m.dir != "" {
		args = append([]string{"-c", m.dir}, args...)
	}
	out, err := exec.CommandContext(ctx, "postconf", args...).Output()
	if err != nil {
		return "", fmt.Errorf("postconf does not tell %s: run postconf %s", name, strings.Join(args, " "))
	}
	return strings.TrimSpace(string(out)), nil
}

// interfaceAddresses are the addresses that inet_interfaces and
// proxy_interfaces stand for.
func interfaceAddresses(names []string) (all []net.IP) {
	for _, n := range names {
		switch n {
		case "all", "loopback-only":
			own, _ := net.InterfaceAddrs() // none is none
			for _, a := range own {
				if in, ok := a.(*net.IPNet); ok && (n == "all" || in.IP.IsLoopback()) && !in.IP.IsLinkLocalUnicast() {
					all = append(all, in.IP)
				}
			}
		default:
			if ip := net.ParseIP(n); ip != nil {
				all = append(all, ip)
			}
		}
	}
	return all
}

// sameAs are the other names under which this host takes mail for the domain:
// those of mydestination, if it is one of them.
func (m *mta) sameAs(domain string) (names []string) {
	if !slices.Contains(m.destinations, domain) {
		return nil
	}
	for _, name := range m.destinations {
		if name != domain && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, ip := range m.addresses {
		literal := "[" + ip.String() + "]"
		if ip.To4() == nil {
			literal = "[IPv6:" + ip.String() + "]" // RFC 5321, 4.1.3
		}
		if !slices.Contains(names, literal) {
			names = append(names, literal)
		}
	}
	return names
}

// wiring is the one to recommend: a domain of mydestination has more names
// than can be routed.
func (m *mta) wiring(domain string) string {
	if slices.Contains(m.destinations, domain) {
		return "b"
	}
	return "a"
}

// wire runs the script and returns what it printed; dry, that is what it would
// do. Without Postfix there is nothing to wire.
func (m *mta) wire(wiring, domain string, dry bool) (lines []string, err error) {
	if !m.found {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "stile-wire-")
	if err != nil {
		return nil, fmt.Errorf("no temporary directory: %s", cause(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copyFiles(postfix.Files, dir); err != nil {
		return nil, err
	}
	args := []string{filepath.Join(dir, "wire"), "-d", domain}
	if m.dir != "" {
		args = append(args, "-c", m.dir)
	}
	if dry {
		args = append(args, "-n")
	}
	var out, said bytes.Buffer
	cmd := exec.Command("sh", append(args, "apply", wiring)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("Postfix cannot be wired: %s", strings.TrimSpace(said.String()))
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n"), nil
}

func copyFiles(files fs.FS, dir string) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return writeNew(filepath.Join(dir, path), string(text), 0o600)
	})
}
