package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// result is what a contender reached in a cell.
type result struct {
	rate   float64 // messages a second
	cpu    float64 // seconds of the daemon's for 1,000 messages
	memory float64 // peak, MB
}

// warm is how many messages go before those that count.
const warm = 20

// measure starts the contenders and lets them take turns.
func measure(ctx context.Context, c cell, rounds int, contenders []contender, m *mint, dir string) (_ []result, err error) {
	daemons := make([]*daemon, len(contenders))
	for i, contender := range contenders {
		place := filepath.Join(dir, fmt.Sprintf("%s-%s-%d", contender.name, c.name, c.connections))
		if err := os.Mkdir(place, 0o700); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		if daemons[i], err = contender.start(ctx, place); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, daemons[i].stop()) }()
	}
	rates, cpus := make([][]float64, len(contenders)), make([][]float64, len(contenders))
	for r := range rounds + 1 {
		n := c.messages
		if r == 0 {
			n = warm
		}
		mails, err := m.messages(n, c.size)
		if err != nil {
			return nil, err
		}
		for i := range contenders {
			took, cpu, err := round(ctx, c, contenders[i], daemons[i], mails)
			if err != nil {
				return nil, fmt.Errorf("%w\n%s, %s × %d; log in %s", err, contenders[i].name, c.name, c.connections, daemons[i].log)
			}
			if r == 0 {
				continue
			}
			rates[i] = append(rates[i], float64(n)/took.Seconds())
			cpus[i] = append(cpus[i], cpu.Seconds()/float64(n)*1000)
		}
	}
	results := make([]result, len(contenders))
	for i := range contenders {
		memory, err := daemons[i].peak()
		if err != nil {
			return nil, err
		}
		results[i] = result{median(rates[i]), median(cpus[i]), memory}
	}
	return results, nil
}

// round delivers the messages, over so many connections at once.
func round(ctx context.Context, c cell, who contender, d *daemon, mails []mail) (took, cpu time.Duration, err error) {
	before, err := d.cpu()
	if err != nil {
		return 0, 0, err
	}
	took, err = elapsed(func() error { return deliverAll(ctx, c.connections, who, d.socket, mails) })
	if err != nil {
		return 0, 0, err
	}
	after, err := d.cpu()
	return took, after - before, err
}

// deliverAll delivers the messages and checks every answer.
func deliverAll(ctx context.Context, connections int, who contender, socket string, mails []mail) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan mail)
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			for m := range work {
				r, err := deliver(socket, m)
				if err == nil && !who.right(r, m.good) {
					err = fmt.Errorf("load: a message whose signature verifies (%t) is answered %q, %q", m.good, r.code, r.added)
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, m := range mails {
		select {
		case work <- m:
		case <-ctx.Done():
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
