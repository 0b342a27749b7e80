package main

import (
	"fmt"
	"runtime/debug"

	"stile/config"
)

type configCmd struct {
	Describe configDescribeCmd `cmd:"" help:"Print a whole config with a comment on every key."`
}

type configDescribeCmd struct{}

func (*configDescribeCmd) Help() string {
	return `What is printed is a config that loads; edit the names in it.

Example:

    stile config describe > /etc/stile/stile.toml`
}

func (*configDescribeCmd) Run(a *app) error {
	_, err := fmt.Fprint(a.stdout, config.Describe())
	return err
}

type versionCmd struct{}

func (*versionCmd) Help() string {
	return `Prints the version, the revision of the source and the version of Go.

Example:

    stile version`
}

func (*versionCmd) Run(a *app) error {
	version, revision, goVersion := build()
	a.print("stile %s revision %s %s", version, revision, goVersion)
	return nil
}

// build is what the binary says of itself.
func build() (version, revision, goVersion string) {
	version, revision, goVersion = "unknown", "unknown", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision, goVersion
	}
	version, goVersion = info.Main.Version, info.GoVersion
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+changes"
			}
		}
	}
	return version, revision + changed, goVersion
}
