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
	keyScope := setting{flag: "realtime-key-scope", aliases: []string{"NEXIS_REQUIRED_KEY_SCOPE"}, commands: byServers}
	commandTimeout := setting{flag: "orchestrator-command-timeout", aliases: []string{"FLEET_COMMAND_TIMEOUT_MS"},
		commands: byServers}
	noAPI := setting{flag: "orchestrator-api", commands: byServers, value: value{kindName: kindBool}}
	return []removedSetting{
		removed("max-reserved", byServers, "a caller may have 1024 reserved seats in a region"),
		removed("netcode-expire", byServers, "a netcode connect token is valid for 45s"),
		removed("player-burst", byServers, "a player may make three times DIRECTOR_PLAYER_RATE calls at once"),
		removed("failure-burst", byServers,
			"50 authentications of an address may fail at once"),
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
		removed("console-session-ttl", byServers, "a login lasts 12h"),
		removed("jwks-max-age", byLoops|byKeys, "verifiers may cache the key set for 5m"),
		removed("key-period", byLoops|byKeys, "a signing key is used for 24h"),
		{keyScope, "the key of a token must have the scope token:mint"},
		{commandTimeout, "an agent must acknowledge a command within 10s"},
		{noAPI, "REST and SSE are always served, and need DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"},
	}
}

// formerSetting is a removed or replaced setting that somebody has set.
type formerSetting struct {
	setBy     source
	isRead    bool   // whether it still has an effect: it was replaced, and not removed
	whatHolds string // what holds instead, or what to set
}

// formerSettings returns the removed and replaced settings of the commands that somebody has set. For doctor, it
// returns those of all commands.
func formerSettings(flags *pflag.FlagSet, environ environment, commands commandSet) (all []formerSetting) {
	add := func(s setting, isRead bool, whatHolds string) {
		if s.commands&commands == 0 && commands&byDoctor == 0 {
			return
		}
		_, from := s.givenValue(flags, environ)
		// GOGC is no setting any more, but still has its effect: Go itself reads it.
		if from != fromDefault && from != fromEnv("GOGC") {
			all = append(all, formerSetting{from, isRead, whatHolds})
		}
	}
	for _, s := range removedSettings() {
		add(s.former, false, s.whatHolds)
	}
	for _, s := range allSettings() {
		if s.replacedBy != "" {
			add(s, true, s.replacedBy)
		}
	}
	return all
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
