package fence

import (
	"crypto/rand"
	"testing"
)

func mustRender(t testing.TB, s *source) Rendering {
	t.Helper()
	r, err := render(s, rand.Reader)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return r
}
