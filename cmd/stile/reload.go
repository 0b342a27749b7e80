package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"stile/config"
	"stile/metrics"
	"stile/milter"
)

// lookEvery is how often the files of senders are looked at. They are asked for
// rather than watched by inotify(7): that holds for every file system and for
// every way of replacing a file, and it is what tells that a file is at rest.
const lookEvery = 2 * time.Second

// maxTold bounds the lines on one configuration that cannot be read.
const maxTold = 10

// reloader puts a new configuration in force while messages are judged by the
// old one.
type reloader struct {
	path    string
	hangup  <-chan os.Signal
	started *config.Config // whose listeners, store and keys are open
	running *config.Config
	server  *milter.Server
	count   *metrics.Metrics
	log     *slog.Logger
}

// run waits for reasons to read the configuration again until ctx ends or the
// returned function is called.
func (r *reloader) run(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		lists := newWatch(r.running)
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.hangup:
				tell(r.log, reloading())
				r.take(metrics.BySignal, func() (*config.Config, error) { return config.Load(r.path) })
				tell(r.log, stateReady)
				lists = newWatch(r.running)
			case <-tick.C:
				if lists.changed(r.running) {
					r.take(metrics.ByList, r.running.Reread)
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// watch follows the files of senders.
type watch struct {
	done []config.FileState // what was read, or tried
	seen []config.FileState // what was there at the last look
}

// newWatch begins with the files as they were when they were read.
func newWatch(c *config.Config) watch {
	all := make([]config.FileState, len(c.Lists))
	for i, l := range c.Lists {
		all[i] = l.State
	}
	return watch{done: all, seen: all}
}

// changed reports whether a file is another than was read last, once: not as
// long as it is written, and not again where reading it failed.
func (w *watch) changed(c *config.Config) bool {
	now := make([]config.FileState, len(c.Lists))
	for i, l := range c.Lists {
		now[i] = config.Look(l.Path)
	}
	rests := slices.Equal(now, w.seen)
	w.seen = now
	if !rests || slices.Equal(now, w.done) {
		return false
	}
	w.done = now
	return true
}

// take puts what read returns in force, whole, or leaves all as it is.
func (r *reloader) take(trigger string, read func() (*config.Config, error)) {
	log := r.log.With(slog.String("trigger", trigger))
	next, err := read()
	if err != nil {
		r.count.Reload(trigger, metrics.Failed)
		tellErrors(log, err)
		return
	}
	change := r.running.Compare(next)
	// A slip of the pen must not open a mailbox; whoever restarts means it.
	if len(change.Dropped) > 0 {
		r.count.Reload(trigger, metrics.Dropping)
		log.Error("reload", slog.String("event", "it would leave unguarded what is guarded now; the old configuration stays"),
			slog.Any("dropped", change.Dropped))
		return
	}
	restart := r.started.Compare(next).Restart
	r.count.RestartNeeded(len(restart))
	r.count.AddPolicies(policies(next)) // before the first message for them
	r.server.Use(next)
	r.running = next
	tellChange(log, change, restart)
	if len(change.Keys)+len(change.Mailboxes) == 0 {
		r.count.Reload(trigger, metrics.Unchanged)
		log.Info("reload", slog.String("event", "nothing is different"))
		return
	}
	r.count.Reload(trigger, metrics.Applied)
	log.Info("reload", slog.String("event", "in force"), slog.Int("mailboxes", len(next.Mailboxes)),
		slog.Int("warnings", len(next.Warnings())))
}

// tellChange says what is different, by the names of keys and mailboxes.
func tellChange(log *slog.Logger, change config.Change, restart []string) {
	for _, key := range change.Keys {
		log.Info("reload", slog.String("event", "changed"), slog.String("key", key))
	}
	for _, m := range change.Mailboxes {
		event := "mailbox changed"
		if m.New {
			event = "mailbox added"
		}
		log.Info("reload", slog.String("event", event), slog.String("policy", m.ID),
			slog.Int("senders_added", m.SendersAdded), slog.Int("senders_removed", m.SendersRemoved),
			slog.Bool("settings", m.Settings))
	}
	for _, key := range restart {
		log.Warn("reload", slog.String("event", "needs a restart; until then the old value holds"), slog.String("key", key))
	}
}

// tellErrors says where the configuration cannot be read, and not what stands
// there: the texts of the errors quote it.
func tellErrors(log *slog.Logger, err error) {
	all := parts(err)
	log.Error("reload", slog.String("event", "the configuration cannot be read; the old one stays; stile check says what is wrong"),
		slog.Int("errors", len(all)))
	for _, e := range all[:min(len(all), maxTold)] {
		var ce *config.Error
		if errors.As(e, &ce) {
			log.Error("reload", slog.String("event", "wrong"), slog.String("at", ce.Where()))
		}
	}
}
