package main

import (
	"testing"

	"stile/tests/rig"
)

// TestBare runs what the demo shows without root.
func TestBare(t *testing.T) {
	bin, clean, err := rig.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := clean(); err != nil {
			t.Error(err)
		}
	}()
	if err := runBare(t.Context(), bin, paper{}); err != nil {
		t.Fatal(err)
	}
}
