package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"stile/quarantine"
)

// What the service manager is told (sd_notify(3)).
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
	stateAlive    = "WATCHDOG=1"
)

// reloading is told before a configuration is read again; stateReady ends it.
func reloading() string {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail for this clock
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000)
}

// notify sends the service manager a state, if there is one that asked for it.
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", path) // "@" begins an abstract name
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}

// tell is notify; what it fails at is logged, since nothing depends on it.
func tell(log *slog.Logger, state string) {
	if err := notify(state); err != nil {
		log.Warn("systemd", slog.String("event", "it could not be told the state"), slog.String("error", system(err)))
	}
}

// tellManager says that stile is ready and, when ctx ends, that it stops; in
// between, if the manager watches, that it lives, as long as live says so. The
// returned function ends that.
func tellManager(ctx context.Context, log *slog.Logger, live func(context.Context) error) (stop func()) {
	tell(log, stateReady)
	stopTelling := context.AfterFunc(ctx, func() { tell(log, stateStopping) })
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if every := watchdog(); every > 0 {
			tellAlive(ctx, log, every/3, live)
		}
	}()
	return func() { stopTelling(); cancel(); <-ended }
}

// watchdog is how long the manager waits for a sign of life, or 0
// (sd_watchdog_enabled(3)).
func watchdog() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	usec, err := strconv.ParseUint(os.Getenv("WATCHDOG_USEC"), 10, 40)
	if err != nil {
		return 0
	}
	return time.Duration(usec) * time.Microsecond
}

func tellAlive(ctx context.Context, log *slog.Logger, every time.Duration, live func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, every)
		err := live(asked)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("systemd", slog.String("event", "no sign of life"), slog.Any("error", err))
		default:
			tell(log, stateAlive)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// errStuck: the loop that takes connections does not come round.
var errStuck = errors.New("no connections are taken")

// live reports what keeps stile from judging mail that a restart may mend.
func live(ctx context.Context, taking func() bool, store *quarantine.Store) error {
	if !taking() {
		return errStuck
	}
	return store.Ready(ctx)
}
