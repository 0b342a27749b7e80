package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

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
	os.Exit(rig.WithBinary(&binary, m.Run))
}
