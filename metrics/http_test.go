package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	m := made()
	broken := errors.New("the store says CANARY-9f2c41d0")
	var ready error
	server := httptest.NewServer(m.Handler(func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("readiness is asked without a deadline")
		}
		return ready
	}))
	defer server.Close()
	for _, c := range []struct {
		method, path string
		ready        error
		status       int
		text         string // "": not compared
	}{
		{"GET", "/healthz", broken, 200, "ok\n"},
		{"GET", "/readyz", nil, 200, "ready\n"},
		{"GET", "/readyz", broken, 503, "not ready\n"},
		{"GET", "/", nil, 404, "not found\n"},
		{"GET", "//healthz", nil, 404, "not found\n"},
		{"GET", "/CANARY-9f2c41d0", nil, 404, "not found\n"},
		{"POST", "/metrics", nil, 405, "only GET and HEAD\n"},
		{"GET", "/metrics", nil, 200, ""},
		{"HEAD", "/metrics", nil, 200, ""},
	} {
		ready = c.ready
		req, err := http.NewRequest(c.method, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, res.StatusCode, c.status)
		}
		if c.text != "" && string(text) != c.text {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, text, c.text)
		}
		if strings.Contains(string(text), "CANARY") {
			t.Errorf("%s %s: the answer holds text that is not ours", c.method, c.path)
		}
	}
}

func TestReadyIsBounded(t *testing.T) {
	m := made()
	entered, leave := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(m.Handler(func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}))
	defer server.Close()
	statuses := make(chan int, inFlight)
	get := func() int {
		res, err := http.Get(server.URL + "/readyz")
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for range inFlight {
		go func() { statuses <- get() }()
		<-entered
	}
	if got := get(); got != http.StatusServiceUnavailable {
		t.Errorf("one too many: status %d", got)
	}
	close(leave)
	for range inFlight {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
}

func TestServerHasTimeouts(t *testing.T) {
	s := made().Server(func(context.Context) error { return nil })
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= scrapeTimeout || s.IdleTimeout <= 0 {
		t.Errorf("a timeout is missing: %+v", s)
	}
}
