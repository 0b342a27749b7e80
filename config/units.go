package config

import (
	"strconv"
	"strings"
	"time"
)

// A century is beyond every use and well inside time.Duration.
const longest = 100 * 365 * 24 * time.Hour

var durationUnits = []struct {
	suffix string
	unit   time.Duration
}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}}

// duration reads a whole number with one of the units s, m, h, d, w.
func duration(s string) (time.Duration, bool) {
	for _, u := range durationUnits {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, ok := count(digits, int64(longest/u.unit))
			return time.Duration(n) * u.unit, ok
		}
	}
	return 0, false
}

var sizeUnits = []struct {
	suffix string
	unit   int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}}

// size reads a whole number with one of the units B, KiB, MiB, GiB, TiB.
func size(s string) (int64, bool) {
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, ok := count(digits, 1<<50/u.unit)
			return n * u.unit, ok
		}
	}
	return 0, false
}

// count reads digits alone: no sign, no space, at least 1, at most max.
func count(digits string, max int64) (int64, bool) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, false
	}
	return int64(n), n >= 1 && n <= uint64(max)
}
