package quarantine

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// BenchmarkAdd measures durable records a second, by callers at once and by
// how many jobs may share a transaction: 1 is a sync of the disk for each.
func BenchmarkAdd(b *testing.B) {
	for _, most := range []int{1, maxBatch} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("share=%d/callers=%d", most, callers), func(b *testing.B) {
				s, _ := fresh(b, Limits{})
				s.writer.most = most
				var n atomic.Int64
				b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := s.Add(b.Context(), record(int(n.Add(1)))); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
