package main

import "github.com/spf13/pflag"

// removedSetting is a setting of the last release that has no effect any more. For one release its flag and its
// variables are accepted, so that a start with them succeeds and says what holds instead. The next release deletes its
// row.
type removedSetting struct {
	former    setting
	whatHolds string // what holds now
}

// removedSettings returns the settings that the last release had and this one has not.
func removedSettings() []removedSetting {
	removed := func(flag string, by commandSet, instead string) removedSetting {
		return removedSetting{setting{flag: flag, commands: by}, instead}
	}
	anyProxy := setting{flag: "orchestrator-trust-any-proxy", aliases: []string{"FLEET_TRUST_PROXY"},
		commands: byServers, value: value{kindName: kindBool}}
	return []removedSetting{
		removed("max-reserved", byServers, "a caller may have 1024 reserved seats in a region"),
		removed("netcode-expire", byServers, "a netcode connect token is valid for 45s"),
		removed("player-burst", byServers, "a player may make three times DIRECTOR_PLAYER_RATE calls at once"),
		removed("failure-burst", byServers,
			"ten times DIRECTOR_FAILURE_RATE authentications of an address may fail at once"),
		{setting{flag: "gogc", env: "GOGC", commands: byLoops}, "the variable GOGC, which is Go's own; 200 without it"},
		removed("reap-interval", byLoops, "a worker looks for expired instances and seats every second"),
		removed("om-page-size", byServers, "a message of a query's answer has at most 10000 tickets"),
		removed("om-max-ticket", byLoops, "a ticket, backfill or assignment has at most 64KiB"),
		removed("om-query-memory", byServers, "answers of queries take a quarter of the memory limit, at most 128MiB"),
		removed("om-proposal-memory", byLoops, "proposals take a quarter of the memory limit, at most 512MiB"),
		removed("loop-lease", byLoops, "a worker that gives no sign of life for 1s loses its profiles to another one"),
		removed("loop-candidates", byLoops|byExplain, "a worker keeps the tickets that fit into a quarter of the "+
			"memory limit, at most 400000"),
		{anyProxy, "only the proxies of DIRECTOR_TRUSTED_PROXIES are trusted"},
		removed("orchestrator-max-agents", byServers, "a replica has at most 20000 agents"),
		removed("orchestrator-max-streams", byServers, "a replica has at most 100 streams of GET /v1/events"),
		removed("sweep-interval", byLoops,
			"a worker compares the lists of providers with the database every five minutes"),
		removed("bevygap-max-waiting", byServers, "requests that wait take a quarter of the memory limit; they are "+
			"at most 10000"),
		removed("console-oidc-label", byServers, "the login page names the host of the issuer"),
	}
}

// ignoredSetting is a removed setting that somebody has set.
type ignoredSetting struct {
	setBy     source
	whatHolds string
}

// ignoredSettings returns the removed settings of the commands that are set; of all commands, for doctor.
func ignoredSettings(flags *pflag.FlagSet, environ environment, commands commandSet) (ignored []ignoredSetting) {
	for _, s := range removedSettings() {
		if s.former.commands&commands == 0 && commands&byDoctor == 0 {
			continue
		}
		_, from := s.former.givenValue(flags, environ)
		// GOGC is no setting any more, but still has its effect: Go itself reads it.
		if from != fromDefault && from != fromEnv("GOGC") {
			ignored = append(ignored, ignoredSetting{from, s.whatHolds})
		}
	}
	return ignored
}

// addRemovedFlags accepts the flags of removed settings. --help does not show them.
func addRemovedFlags(flags *pflag.FlagSet, commands commandSet) {
	for _, s := range removedSettings() {
		if s.former.commands&commands == 0 {
			continue
		}
		flag := flags.VarPF(&rawFlag{valueKind: "text"}, s.former.flag, "", "No effect: "+s.whatHolds)
		flag.Hidden = true
		if s.former.value.kindName == kindBool {
			flag.NoOptDefVal = "true"
		}
	}
}
