package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// packages is what scripts/bring unpacked.
type packages struct {
	repo string // the repository's root
	root string // the unpacked packages, laid out as under /; "": none
}

// findRepo goes up from the working directory to the module's root.
func findRepo() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("rig: not inside the repository: no go.mod above the working directory")
		}
		dir = up
	}
}

func findPackages(repo string) (packages, error) {
	if os.Geteuid() != 0 {
		return packages{}, errors.New("rig: not root, and Postfix must be started as root")
	}
	p := packages{repo: repo, root: filepath.Join(repo, "build", "mail", "root")}
	if _, err := os.Stat(filepath.Join(repo, "build", "mail", "packages")); err != nil {
		return packages{}, errors.New("rig: no Postfix in build/mail: run scripts/bring first")
	}
	return p, nil
}

// under makes the packages reachable through a link in dir. Postfix takes a blank
// in its command directory for the end of a command's name, and the clone may
// lie anywhere.
func (p packages) under(dir string) (packages, error) {
	link := filepath.Join(dir, "root")
	if err := os.Symlink(p.root, link); err != nil {
		return packages{}, fmt.Errorf("rig: %w", err)
	}
	p.root = link
	return p, nil
}

func (p packages) daemons() string  { return filepath.Join(p.root, "usr/lib/postfix/sbin") }
func (p packages) commands() string { return filepath.Join(p.root, "usr/sbin") }
func (p packages) shlib() string    { return filepath.Join(p.root, "usr/lib/postfix") }

func (p packages) command(name string) string { return filepath.Join(p.commands(), name) }

// libraries is the LD_LIBRARY_PATH under which the unpacked programs find the
// libraries that were unpacked with them.
func (p packages) libraries() string {
	dirs := []string{p.shlib()}
	for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
		found, _ := filepath.Glob(filepath.Join(p.root, pattern)) // the pattern is well-formed
		dirs = append(dirs, found...)
	}
	return strings.Join(dirs, ":")
}

// python is Debian's interpreter, the one that python3-dkim was built for. One
// that stands earlier on PATH need not be.
func (p packages) python() string {
	if mine := filepath.Join(p.root, "usr/bin/python3"); exists(mine) {
		return mine
	}
	return "/usr/bin/python3"
}

// modules is where Debian's Python modules were unpacked.
func (p packages) modules() string { return filepath.Join(p.root, "usr/lib/python3/dist-packages") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// environment is all that a started program sees of ours: not the caller's
// LANG, PYTHON* or MAIL_CONFIG.
func (p packages) environment(more ...string) []string {
	env := []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"HOME=/nonexistent",
	}
	if p.root != "" {
		env = append(env,
			"LD_LIBRARY_PATH="+p.libraries(),
			"PYTHONPATH="+p.modules(),
			"PYTHONDONTWRITEBYTECODE=1",
		)
	}
	return append(env, more...)
}
