package rig

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Lines is a log that grows: what is written to it is cut into lines, and each
// one wakes those who wait.
type Lines struct {
	mu    sync.Mutex
	part  []byte // what came behind the last line end
	lines []string
	more  chan struct{} // closed and replaced at each new line
}

// NewLines makes an empty log.
func NewLines() *Lines { return &Lines{more: make(chan struct{})} }

// Write adds to the log. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	grown := false
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 {
			break
		}
		l.lines = append(l.lines, string(l.part[:i]))
		l.part = l.part[i+1:]
		grown = true
	}
	if grown {
		close(l.more)
		l.more = make(chan struct{})
	}
	return len(p), nil
}

// Len is the number of lines so far: a mark to wait from.
func (l *Lines) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// Since returns the lines from number from on.
func (l *Lines) Since(from int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines[from:]...)
}

// Text is the whole log.
func (l *Lines) Text() string { return strings.Join(l.Since(0), "\n") }

// Wait returns the first line from number from on that holds all the words.
func (l *Lines) Wait(ctx context.Context, from int, words ...string) (string, error) {
	return l.wait(ctx, from, words, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// WaitAny returns the first line from number from on that holds one of the words.
func (l *Lines) WaitAny(ctx context.Context, from int, words ...string) (string, error) {
	return l.wait(ctx, from, words, func(line string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
	})
}

func (l *Lines) wait(ctx context.Context, from int, words []string, wanted func(string) bool) (string, error) {
	for next := from; ; {
		l.mu.Lock()
		fresh, more := l.lines[next:], l.more
		l.mu.Unlock()
		if i := slices.IndexFunc(fresh, wanted); i >= 0 {
			return fresh[i], nil
		}
		next += len(fresh)
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("rig: no line with %q: %w; since then:\n%s", words, ctx.Err(), strings.Join(l.Since(from), "\n"))
		case <-more:
		}
	}
}
