package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"stile/tests/rig"
)

// binary is stile, compiled once for all tests.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		for _, s := range tests {
			fmt.Println("not run: TestE2E/" + s.name)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	bin, clean, err := rig.Build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = bin
	code := m.Run()
	if err := clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
