# For developers. Users need scripts/demo and scripts/test only.
.PHONY: build test test-all fuzz shapes mutate drill demo load man package vet fmt clean

build: ## the binary as it is shipped
	CGO_ENABLED=0 go build -trimpath -o stile ./cmd/stile

test: ## what runs in seconds: no Postfix
	go test -short ./...

test-all: ## everything: with real mail (root, Debian), with fuzzing, and the cost of the dearest messages
	./scripts/test
	./scripts/fuzz
	$(MAKE) shapes
	go test -count=1 -timeout 20m ./tests/deb

fuzz: ## ten seconds of each parser
	./scripts/fuzz

shapes: ## processor time of 10 MB of every shape, beside that of ordinary text
	go test -run '^$$' -bench Shapes -benchtime 1x -timeout 30m ./milter

mutate: ## every small mistake in verdict and fence, and which of them no test notices; most of an hour
	go run ./tests/mutate

demo: ## the whole path, shown (root, Debian)
	./scripts/demo

drill: ## cuts each guard out and demands that a test misses it, some minutes
	@go run ./tests/drill

load: ## stile's rate and memory beside OpenDKIM's (Debian), some minutes
	./scripts/bring opendkim
	go run ./tests/load

man: ## the manual pages, into build/man
	CGO_ENABLED=0 go build -trimpath -o build/stile ./cmd/stile
	./deploy/man/make build/stile build/man

package: ## the Debian package, into build/package
	./deploy/deb/build

vet:
	go vet ./...

fmt:
	gofmt -w $$(git ls-files '*.go')

clean: ## built and brought things
	rm -rf build stile
