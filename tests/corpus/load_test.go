package corpus

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrict is a corpus that is as it should be, and what each fault does to it.
func TestStrict(t *testing.T) {
	const row = "accept/a\ta message\t\t{}\n"
	whole := map[string]string{"corpus.tsv": columns + row, "zone": "$TTL 300\n", "accept/a.eml": "From: a\r\n\r\n", "defer/": "", "refuse/": ""}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(whole["accept/a.eml"])))
	for _, c := range []struct{ name, file, text string }{
		{"no columns", "corpus.tsv", row},
		{"a column too few", "corpus.tsv", columns + "accept/a\ta message\t{}\n"},
		{"unknown key", "corpus.tsv", columns + "accept/a\ta message\t\t{\"colour\":1}\n"},
		{"unknown folder in the table", "corpus.tsv", columns + row + "ignore/b\tb\t\t{}\n"},
		{"unknown reason in the table", "corpus.tsv", columns + row + "refuse/ugly/b\tb\t\t{}\n"},
		{"a folder below a folder", "corpus.tsv", columns + row + "accept/more/b\tb\t\t{}\n"},
		{"unknown policy", "corpus.tsv", columns + "accept/a\ta message\t\t{\"policy\":\"lax\"}\n"},
		{"unknown failure", "corpus.tsv", columns + "accept/a\ta message\t\t{\"fails\":\"luck\"}\n"},
		{"unknown outcome through Postfix", "corpus.tsv", columns + "accept/a\ta message\t\t{\"postfix\":\"maybe\"}\n"},
		{"a deferral's reason on acceptance", "corpus.tsv", columns + "accept/a\ta message\t\t{\"reason\":\"dns\"}\n"},
		{"after a message that is not there", "corpus.tsv", columns + "accept/a\ta message\t\t{\"after\":\"accept/b\"}\n"},
		{"nothing says what it is", "corpus.tsv", columns + "accept/a\t\t\t{}\n"},
		{"two rows", "corpus.tsv", columns + row + row},
		{"a row without a message", "corpus.tsv", columns + row + "accept/b\tb\t\t{}\n"},
		{"a message without a row", "accept/b.eml", "From: b\r\n\r\n"},
		{"a file that is no message", "accept/b.txt", "b"},
		{"an unknown folder", "refuse/ugly/b.eml", "From: b\r\n\r\n"},
		{"another sum", "corpus.tsv", columns + "accept/a\ta message\t\t{\"taken\":\"" + strings.Repeat("0", 64) + "\"}\n"},
		{"no zone", "zone", "this is no zone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := loadChanged(t, whole, c.file, c.text); err == nil {
				t.Error("it loads")
			}
		})
	}
	if err := loadChanged(t, whole, "corpus.tsv", columns+"accept/a\ta message\t\t{\"taken\":\""+sum+"\"}\n"); err != nil {
		t.Error(err)
	}
}

// loadChanged loads a corpus of those files, one of them changed.
func loadChanged(t *testing.T, whole map[string]string, changed, text string) error {
	t.Helper()
	dir := t.TempDir()
	put := func(file, text string) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file+"x")), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "/") {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range whole {
		put(file, text)
	}
	put(changed, text)
	_, err := Load(dir)
	return err
}
