package metrics

import (
	"context"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of the HTTP side.
const (
	inFlight      = 4
	scrapeTimeout = 10 * time.Second
	readyTimeout  = 2 * time.Second
)

// Server makes the server that answers for m. It does not listen yet.
func (m *Metrics) Server(ready func(context.Context) error) *http.Server {
	return &http.Server{
		Handler:           m.Handler(ready),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      scrapeTimeout + 5*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		// The library's lines quote what a client sent.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// Handler answers GET and HEAD of /metrics, /healthz and /readyz. ready says
// whether a message could be judged and recorded now; its error's text is not
// shown. It is called by a few requests at once at most, and has two seconds.
func (m *Metrics) Handler(ready func(context.Context) error) http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		ErrorHandling:       promhttp.HTTPErrorOnError,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: inFlight,
		CoalesceGather:      true,
		Timeout:             scrapeTimeout,
	})
	slots := make(chan struct{}, inFlight)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			say(w, http.StatusMethodNotAllowed, "only GET and HEAD")
			return
		}
		switch r.URL.Path {
		case "/metrics":
			scrape.ServeHTTP(w, r)
		case "/healthz":
			say(w, http.StatusOK, "ok")
		case "/readyz":
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				answerReady(w, r, ready)
			default:
				say(w, http.StatusServiceUnavailable, "not ready")
			}
		default:
			say(w, http.StatusNotFound, "not found")
		}
	})
}

func answerReady(w http.ResponseWriter, r *http.Request, ready func(context.Context) error) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := ready(ctx); err != nil {
		say(w, http.StatusServiceUnavailable, "not ready")
		return
	}
	say(w, http.StatusOK, "ready")
}

// say answers one of our own constant texts.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
