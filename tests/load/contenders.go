package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stile is stile at that path, asking that DNS server.
func stile(bin, dns string) contender {
	start := func(ctx context.Context, dir string) (*daemon, error) {
		conf, key := filepath.Join(dir, "stile.toml"), filepath.Join(dir, "seal.key")
		if out, err := exec.CommandContext(ctx, bin, "key", "generate", "-c", conf, "-o", key).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("load: stile key generate: %w\n%s", err, out)
		}
		text := fmt.Sprintf(`listen   = "unix:%s"
metrics  = ""
hostname = "mx.estate.example"
dns      = [%q]
store    = "sqlite:%s"
seal_key = %q
[evidence]
none = true
[[mailbox]]
id = "shopping"
address = %q
senders = [%q]
`, filepath.Join(dir, "s"), dns, filepath.Join(dir, "store", "quarantine.db"), key, to, from)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		return startDaemon(ctx, dir, exec.Command(bin, "serve", "-c", conf))
	}
	// Good mail is stamped and goes on, the rest goes no further.
	right := func(r reply, good bool) bool {
		if !good {
			return r.code == 'd' && len(r.added) == 0
		}
		return r.code == 'a' && adds(r, "Stile-Verdict", "accept;")
	}
	return contender{"stile", start, right}
}

// openDKIM is the package that scripts/bring unpacked there, with one public
// key in a file.
func openDKIM(root, record string) (contender, error) {
	bin := filepath.Join(root, "usr/sbin/opendkim")
	if _, err := os.Stat(bin); err != nil {
		return contender{}, errors.New("load: no OpenDKIM: run scripts/bring opendkim first")
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	if err != nil {
		return contender{}, fmt.Errorf("load: %w", err)
	}
	libraries = append(libraries, filepath.Join(root, "usr/lib"))
	start := func(ctx context.Context, dir string) (*daemon, error) {
		conf, keys := filepath.Join(dir, "opendkim.conf"), filepath.Join(dir, "keys")
		text := fmt.Sprintf("Mode v\nSocket local:%s\nBackground no\nSyslog no\nAuthservID mx.estate.example\nTestPublicKeys %s\n",
			filepath.Join(dir, "s"), keys)
		line := selector + "._domainkey." + domain + " " + record + "\n"
		err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(keys, []byte(line), 0o600))
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		cmd := exec.Command(bin, "-f", "-x", conf)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
		return startDaemon(ctx, dir, cmd)
	}
	// All mail goes on, with what was found in a field.
	right := func(r reply, good bool) bool {
		result := "dkim=fail"
		if good {
			result = "dkim=pass"
		}
		return (r.code == 'a' || r.code == 'c') && adds(r, "Authentication-Results", result)
	}
	return contender{"OpenDKIM", start, right}, nil
}

// adds reports whether a field of that name that holds those words was added.
func adds(r reply, name, words string) bool {
	for _, f := range r.added {
		if f.name == name && strings.Contains(f.value, words) {
			return true
		}
	}
	return false
}
