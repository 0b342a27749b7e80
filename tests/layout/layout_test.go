// Package layout holds the house to its plan.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport is who may import whom. A package that is missing here fails the
// test, and so does an entry that is no package: the table cannot go stale.
var mayImport = map[string][]string{
	"verdict":    {},
	"fence":      {"verdict"},
	"stamp":      {"verdict", "fence"},
	"quarantine": {"verdict"},
	"dns":        {"verdict"},
	"config":     {"verdict"},
	"metrics":    {"verdict", "fence"},
	"doctor":     {"config", "dns"},
	"milter":     {"verdict", "fence", "stamp", "quarantine", "dns", "config", "metrics"},
	"cmd/stile":  {"verdict", "fence", "stamp", "quarantine", "dns", "config", "metrics", "milter", "doctor", "contrib/postfix"},

	"contrib/postfix": {},
}

// ioFree are the packages that do no I/O but through what they are handed.
var ioFree = []string{"verdict", "fence", "stamp"}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "stile/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pkgs := map[string]pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[strings.TrimPrefix(p.ImportPath, "stile/")] = p
	}
}

func TestImports(t *testing.T) {
	pkgs := list(t)
	for name, p := range pkgs {
		if strings.HasPrefix(name, "tests/") {
			continue
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is not in the table", name)
		}
		for _, i := range p.Imports {
			if own, ours := strings.CutPrefix(i, "stile/"); ours && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", name, own)
			}
		}
	}
	for name := range mayImport {
		if _, there := pkgs[name]; !there {
			t.Errorf("%s is in the table and nowhere else", name)
		}
	}
}

func TestNoIO(t *testing.T) {
	pkgs := list(t)
	for _, name := range ioFree {
		for _, i := range pkgs[name].Imports {
			if slices.Contains([]string{"os", "net", "net/http", "os/exec", "syscall", "log", "log/slog"}, i) {
				t.Errorf("%s imports %s", name, i)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	cmd := exec.Command("go", "list", "-m", "github.com/emersion/go-milter")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	// Older versions bound no packet and recover no panic.
	if got := strings.TrimSpace(string(out)); got < "github.com/emersion/go-milter v0.5.0" {
		t.Errorf("%s", got)
	}
}
