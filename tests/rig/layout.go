package rig

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// LayOut makes the receiver's Postfix with that wiring ("a" or "b") and starts
// nothing. clean removes it.
func LayOut(ctx context.Context, wiring string) (f *Postfix, clean func() error, err error) {
	r, err := prepare()
	if err != nil {
		return nil, nil, err
	}
	clean = func() error { return os.RemoveAll(r.Dir) }
	f = &Postfix{Dir: filepath.Join(r.Dir, "mx"), Log: NewLines(), packages: r.packages}
	err = f.layOut(r.ids)
	if err == nil {
		err = f.configure(r.ids, "")
	}
	if err == nil {
		err = f.apply(ctx, wiring)
	}
	if err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	return f, clean, nil
}

// Paths are the variables of the environment under which Postfix's commands are
// found and run.
func (f *Postfix) Paths() map[string]string {
	return map[string]string{
		"PATH":            f.packages.commands() + ":/usr/sbin:/usr/bin:/sbin:/bin",
		"LD_LIBRARY_PATH": f.packages.libraries(),
	}
}
