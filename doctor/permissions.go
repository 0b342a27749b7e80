package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// permissions looks at who else can read or change what stile relies on.
func (a *audit) permissions() {
	a.private("key-readable", a.Config.SealKey, 0o007)
	for _, path := range []string{a.File, filepath.Dir(a.File)} {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			a.add("config-writable", vars{"path": path}, fmt.Sprintf("others can change %s (%s)", path, modeOf(path)))
		}
	}
	a.private("store-readable", strings.TrimPrefix(a.Config.Store, "sqlite:"), 0o007)
	if len(a.Config.Evidence.Recipients) > 0 {
		a.private("evidence-readable", a.Config.Evidence.Dir, 0o007)
	}
}

// private looks at a file or folder that nobody else should get at. One that
// cannot be seen is none of others either.
func (a *audit) private(id, path string, bits fs.FileMode) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.Mode().Perm()&bits != 0 {
		a.add(id, vars{"path": path}, fmt.Sprintf("others can get at %s (%s)", path, modeOf(path)))
	}
}
