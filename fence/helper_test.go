package fence

import (
	"crypto/rand"
)

func mustRender(t fataler, s *source) Rendering {
	t.Helper()
	r, err := render(s, usual, rand.Reader)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return r
}
