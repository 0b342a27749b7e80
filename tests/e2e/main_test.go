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
		fmt.Println("e2e: left out by -short: Postfix was not started and nothing was tested")
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
