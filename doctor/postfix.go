package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// postfix is the configuration of one instance.
type postfix struct {
	dir      string            // the option -c, "" is none
	main     map[string]string // every parameter, defaults among them, as written
	services []*service        // in the order of master.cf
}

// service is a line of master.cf.
type service struct {
	pf      *postfix
	name    string
	typ     string // inet, unix, fifo, unix-dgram or pass
	daemon  string // the program's name
	chroot  bool
	options map[string]string // what -o sets, as written
}

func (s *service) id() string { return s.name + "/" + s.typ }

// overrides reports whether an option of the service sets the parameter.
func (s *service) overrides(name string) bool {
	_, ok := s.options[name]
	return ok
}

// get is the value that the service's program sees, expanded.
func (s *service) get(name string) string { return s.expand("$"+name, "") }

// under is get for a program that master(8) starts with stress=yes because all
// others are busy (STRESS_README).
func (s *service) under(stress, name string) string { return s.expand("$"+name, stress) }

// lookup is the value of a parameter, as written.
func (s *service) lookup(name string) string {
	if v, ok := s.options[name]; ok {
		return v
	}
	return s.pf.main[name]
}

func (s *service) expand(text, stress string) string {
	e := expander{lookup: func(name string) string {
		if name == "stress" {
			return stress
		}
		return s.lookup(name)
	}}
	return strings.TrimSpace(e.expand(text))
}

// get is the value of main.cf, expanded.
func (p *postfix) get(name string) string { return (&service{pf: p}).get(name) }

// known reports whether this release has the parameter.
func (p *postfix) known(name string) bool {
	_, ok := p.main[name]
	return ok
}

// args puts the directory before a command's arguments.
func (p *postfix) args(args ...string) []string {
	if p.dir == "" {
		return args
	}
	return append([]string{"-c", p.dir}, args...)
}

// by returns the services that run a program.
func (p *postfix) by(daemons ...string) []*service {
	var found []*service
	for _, s := range p.services {
		for _, d := range daemons {
			if s.daemon == d {
				found = append(found, s)
			}
		}
	}
	return found
}

// service finds a service, nil if there is none.
func (p *postfix) service(id string) *service {
	for _, s := range p.services {
		if s.id() == id {
			return s
		}
	}
	return nil
}

// queue is a path below the queue directory.
func (p *postfix) queue(path ...string) string {
	return filepath.Join(append([]string{p.get("queue_directory")}, path...)...)
}

func readPostfix(ctx context.Context, dir string) (*postfix, error) {
	p := &postfix{dir: dir, main: map[string]string{}}
	all, err := p.postconf(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		p.main[l[0]] = l[1]
	}
	if err := p.readMaster(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// postconf returns the "name = value" lines that postconf(1) prints.
func (p *postfix) postconf(ctx context.Context, args ...string) ([][2]string, error) {
	r, err := run(ctx, "postconf", p.args(args...)...)
	if err != nil {
		return nil, err
	}
	if r.exit != 0 {
		return nil, fmt.Errorf("doctor: postconf cannot read Postfix's configuration: run postconf %s", strings.Join(p.args(args...), " "))
	}
	var lines [][2]string
	for line := range strings.Lines(r.stdout) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " =")
		if ok {
			lines = append(lines, [2]string{name, strings.TrimSpace(value)})
		}
	}
	return lines, nil
}

// readMaster reads the fields of each service, then its options.
func (p *postfix) readMaster(ctx context.Context) error {
	fields, err := p.postconf(ctx, "-F")
	if err != nil {
		return err
	}
	byID := map[string]*service{}
	for _, f := range fields {
		id, field := cutLast(f[0])
		s := byID[id]
		if s == nil {
			s = &service{pf: p, options: map[string]string{}}
			s.name, s.typ = cutLast(id)
			byID[id] = s
			p.services = append(p.services, s)
		}
		switch field {
		case "chroot":
			s.chroot = f[1] == "y" || f[1] == "-" && strings.HasPrefix(p.main["compatibility_level"], "0")
		case "command":
			program, _, _ := strings.Cut(f[1], " ")
			s.daemon = filepath.Base(program)
		}
	}
	options, err := p.postconf(ctx, "-P")
	if err != nil {
		return err
	}
	for _, o := range options {
		id, name := cutLast(o[0])
		if s := byID[id]; s != nil {
			s.options[name] = o[1]
		}
	}
	return nil
}

func cutLast(text string) (before, after string) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return "", text
	}
	return text[:i], text[i+1:]
}
