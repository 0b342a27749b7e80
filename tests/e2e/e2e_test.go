package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// tests are all that need the rig.
var tests = []struct {
	name string
	run  func(*testing.T)
}{
	{"accept", testAccept},
	{"refuse", testRefuse},
	{"reject", testReject},
	{"canary", testCanary},
	{"forged", testForged},
	{"reply-fields", testReplyFields},
	{"shapes", testShapes},
	{"bdat", testChunks},
	{"eight-bit", testEightBit},
	{"smtputf8", testUTF8},
	{"spellings", testSpellings},
	{"guarded-domain", testGuardedDomain},
	{"delrcpt", testRecipients},
	{"policies-mixed", testPolicies},
	{"sendmail", testSendmail},
	{"sendmail-defers", testSendmailDefers},
	{"bounce", testBounce},
	{"bounce-to-reject", testBounceToReject},
	{"wiring-a", testWiringA},
	{"wiring-b", testWiringB},
	{"wire-a", testWireA},
	{"wire-b", testWireB},
	{"wire-usage", testWireUsage},
	{"one-connection", testManyInOneConnection},
	{"rset", testReset},
	{"replay", testRepeat},
	{"spool", testLarge},
	{"body-mode", testBodyMode},
	{"put-off", testPutOff},
	{"sealed", testSealed},
	{"evidence-full", testEvidenceFull},
	{"garbage", testGarbage},
	{"no-reply", testNoReply},
	{"dns-dead", testDNSFails},
	{"dns-slow", testDNSSlow},
	{"defer-holds-all", testDeferHoldsAll},
	{"store-locked", testStoreLocked},
	{"disk-full", testDiskFull},
	{"200-connections", testCrowd},
	{"kill-in-data", testKilledWhileTheClientSends},
	{"kill-at-each-command", testKilledWhileItReads},
	{"kill-while-judging", testKilledWhileItJudges},
	{"kill-while-recording", testKilledWhileItRecords},
	{"kill-while-answering", testKilledWhileItAnswers},
	{"stop", testStopped},
	{"log", testLog},
	{"metrics", testMetrics},
}

// TestE2E runs them, each on a rig of its own.
func TestE2E(t *testing.T) {
	for _, s := range tests {
		t.Run(s.name, s.run)
	}
}

// TestTable finds a test of this package that nothing runs, or that stands
// beside the table.
func TestTable(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool {
		return strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var declared []string
	for _, p := range packages {
		for _, f := range p.Files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					declared = append(declared, fn.Name.Name)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if fn, ok := n.(*ast.FuncDecl); ok {
					ast.Inspect(fn.Body, func(n ast.Node) bool { return mention(n, used) })
					return false
				}
				return mention(n, used)
			})
		}
	}
	for _, name := range declared {
		switch {
		case strings.HasPrefix(name, "test") && !used[name]:
			t.Errorf("%s is in no table", name)
		case strings.HasPrefix(name, "TestE2E") && name != "TestE2E":
			t.Errorf("%s stands beside the table", name)
		}
	}
}

// mention notes an identifier that is used.
func mention(n ast.Node, used map[string]bool) bool {
	if id, ok := n.(*ast.Ident); ok {
		used[id.Name] = true
	}
	return true
}
