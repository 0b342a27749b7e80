package verdict

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// publishedKey is the key record of RFC 6376, C.2.
const publishedKey = "v=DKIM1; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDwIRP/UC3SBsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYt" +
	"IxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ0fzfVjH4OuKhitdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB"

// TestPublishedExample: the message of RFC 6376, A.2, which is signed by the
// parent of its From domain, verifies for that parent.
func TestPublishedExample(t *testing.T) {
	raw, err := os.ReadFile("../tests/corpus/refuse/misaligned/rfc6376-a2.eml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Split(io.NewSectionReader(strings.NewReader(string(raw)), 0, int64(len(raw))))
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(context.Context, string) ([]string, error) { return []string{publishedKey}, nil }
	c := Open(m, Env{Lookup: lookup, Now: time.Now()})
	c.from = "joe@example.com"
	c.signatures = openSignatures(m.Header, c.domain())
	if len(c.signatures) != 1 {
		t.Fatalf("%d signatures of %s", len(c.signatures), c.domain())
	}
	// Its i= is at a subdomain, as that of mail from one may be.
	if r := c.try(context.Background(), c.signatures[0]); r != verified {
		t.Errorf("result %d", r)
	}
}
