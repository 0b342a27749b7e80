// Drill cuts each guard out of the source, one at a time, and demands that a
// test misses it by name.
//
//	make drill                             all of them, some minutes
//	go run ./tests/drill -match from-count those whose code, place or source holds that
//
// It prints a line a cut: "cut", what the guard is called, where it stands, and
// the test that failed without it.
//
// # What is cut
//
// A guard is an if without an else whose body ends in a return of one refusal:
// a reason of package verdict, the outcome of a signature, a remark or error of
// the package, or, of a function that only says no, false. It is found in the
// syntax tree of verdict, fence and stamp, so that a new one needs no entry
// anywhere; of the functions of fence that only say no those of reasons.go
// count. Its condition becomes false; where several are joined by || each is
// a guard of its own. The reason of a guard of verdict names the messages of
// tests/corpus that must miss it: those that are filed under that very reason.
// A function of verdict that says no is entered in reasons.go with the reasons
// it says no for; where the functions around it refuse such a message too, a
// test of the package must miss it.
//
// What is no such if stands in a table (table*.go): the file, a piece of source
// that stands there exactly once, what takes its place, and the test that must
// fail. The first twelve of it are missed by a check of stile drill.
//
// A reason without a guard or a message, a function that says no without a
// reason, a piece of source that is gone, a cut that does not build, and one
// that no test misses make it fail.
//
// # How
//
// All cuts stand in one copy of the source, each behind a switch that the
// environment turns, and reach the compiler through go test -overlay: the tree
// is never touched. So the tests of a package are linked once and not once a
// cut, which costs a tenth of a second instead of several; that a cut builds
// follows from that the copy does. Without a cut each test first runs by itself
// and notes which cuts it reaches, and which is quick. Tests of random values
// get the same ones each time.
//
// # Diagnostics
//
// Exit 0: every cut was missed. Exit 1: one was not; its line says NOT MISSED.
// Exit 2: nothing was measured.
package main
