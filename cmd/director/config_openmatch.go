package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/server/openmatch"
)

// openMatchSettings returns the settings of the Open Match server.
func (c *Config) openMatchSettings() []setting {
	return inSection(sectionOpenMatch, byServers, []setting{
		{flag: "grpc-addr", start: true, value: addressesValue(&c.OpenMatch.Addrs),
			help: "The gRPC addresses for Open Match's clients. Setting them also serves their REST API under /v1/ at " +
				"the API's address. Each address serves all services: `:50503,:50504,:50505` are Open Match's own " +
				"ports. Not set: Open Match is not served"},
		{flag: "om-tokens", secret: true, start: true, value: secretsValue(&c.OpenMatch.Tokens),
			help: "The secrets that Open Match's clients send as `authorization: Bearer …`. The prefix `frontend=`, " +
				"`backend=` or `query=` limits a secret to that service"},
		{flag: "om-client-ca", value: textValue(&c.OpenMatch.ClientCA, "a PEM file"),
			help: "The CA of client certificates, with which clients need no token. It requires TLS"},
		{flag: "om-clients", value: listValue(&c.OpenMatch.ClientNames,
			"names in certificates, with frontend=, backend= or query= before them"),
			help: "The DNS, URI or common names of client certificates that are accepted, and for which service. Not " +
				"set: every certificate of the CA, for all services"},
		{flag: "om-open", value: booleanValue(&c.OpenMatch.OpenToAll),
			help: "Serve Open Match's clients without tokens and certificates: anybody who reaches a port can read and " +
				"change all tickets"},
		// Of every process that has to do with tickets, also where no client of Open Match is served.
		{flag: "om-region", commands: byLoops | byProfiles, value: gameRegionValue(&c.Server.Universe),
			help: "The region of the tickets and profiles. Replicas and workers with the same region share one queue"},
		{flag: "om-registration", fleetWide: true, commands: byLoops,
			value: durationValue(&c.OpenMatch.Registration, 0, time.Minute),
			help: "How long a synchronization cycle accepts further FetchMatches calls. No ticket is in two matches of " +
				"one cycle"},
		{flag: "om-collection", fleetWide: true, commands: byLoops,
			value: durationValue(&c.OpenMatch.Collection, 10*time.Millisecond, 10*time.Minute),
			help:  "How long match functions may run after that"},
		{flag: "om-pending-for", fleetWide: true, commands: byLoops | byProfiles,
			value: durationValue(&c.Database.Timing.PendingFor, 10*time.Millisecond, day),
			help:  "Tickets of a match that is not assigned return to the queue after this time"},
		{flag: "om-backfill-for", fleetWide: true, commands: byLoops,
			value: durationValue(&c.Database.Timing.BackfillFor, 0, day),
			help: "A backfill that is not acknowledged for four fifths of this time expires. 0: of the time of " +
				"om-pending-for"},
		{flag: "om-assigned-for", fleetWide: true, commands: byLoops,
			value: durationValue(&c.Database.Timing.AssignedFor, 10*time.Millisecond, 30*day),
			help:  "How long an assigned ticket, and the final state of a player's ticket, can still be read"},
		{flag: "om-max-watchers", value: integerValue(&c.Server.MaxWaiters, 1, 1_000_000),
			help: "The number of WatchAssignments calls in a replica, at about 15 KiB each (45 KiB with garbage), and " +
				"of players' calls that wait for a ticket, and of game servers' calls that wait for sessions, each; " +
				"further calls get an error and should use another replica"},
		// These three also of workers that serve no client of Open Match: profiles may name match functions.
		{flag: "om-functions", commands: byLoops,
			value: listValue(&c.OpenMatch.FunctionHosts, "hosts (*. for all below), addresses or CIDRs"),
			help: "The hosts of match functions that callers of FetchMatches and profiles may name. While all listeners " +
				"are on loopback, functions on loopback need no entry; otherwise they need one such as localhost or " +
				"127.0.0.1"},
		{flag: "om-function-ca", commands: byLoops, value: textValue(&c.OpenMatch.FunctionCA, "a PEM file"),
			help: "The CA of match functions, which are then called with TLS, and of an evaluator at grpcs:// or " +
				"https://. Not set: match functions are called in plain text, and the system's CAs verify an " +
				"evaluator's certificate"},
		{flag: "om-evaluator", commands: byLoops, value: evaluatorURLValue(&c.OpenMatch.EvaluatorURL),
			help: "The evaluator that decides between proposals for the same tickets. Not set: the built-in default " +
				"evaluator, by score"},
		// Also of commands that decode tickets: they have to see the players whom the loop sees.
		{flag: "om-player-arg", fleetWide: true, commands: byLoops | byExplain | byReplay,
			value: textValue(&c.Server.PlayerArg, "the name of a string_arg"),
			help: "The string_arg that identifies the player; a player may then have only one live ticket. Not set: any " +
				"number"},
		{flag: "ticket-lease", fleetWide: true, value: durationOrNoneValue(&c.Server.TicketLease, day),
			help: "A ticket of POST /tickets expires when none of its players has waited for it for this time. 0: only " +
				"when its time in the queue is over"},
	})
}

// openMatchOptions returns nil if Open Match is not served.
func (c *Config) openMatchOptions() *openmatch.Options {
	if len(c.OpenMatch.Addrs) == 0 {
		return nil
	}
	o := c.OpenMatch
	// Settings that other parts read as well are bound to server.Options.
	o.Universe, o.PlayerArg, o.HTTPAddr, o.MaxWatchers = c.Server.Universe, c.Server.PlayerArg, c.Server.Addr, c.Server.MaxWaiters
	// Together five eighths of the memory limit at most: see loopMemory.
	o.QueryMemory, o.ProposalMemory, o.QueueMemory = memoryShare(128<<20), memoryShare(512<<20), memoryShare(128<<20)/2
	return &o
}

// checkOpenMatch refuses settings that would open the tickets to everybody by mistake.
func (c *Config) checkOpenMatch() error {
	o := c.openMatchOptions()
	if o == nil {
		return nil
	}
	// Without tokens and certificates, loopback is the only bound on who connects.
	if addr := o.Exposed(); addr != "" {
		return fmt.Errorf("anybody who reaches %s could read and change all tickets: set DIRECTOR_OM_TOKENS "+
			"('openssl rand -hex 24' makes one) "+
			"or DIRECTOR_OM_CLIENT_CA, listen on loopback, or allow it with --om-open", addr)
	}
	// Names without a CA would restrict nobody.
	if len(o.ClientNames) > 0 && o.ClientCA == "" {
		return errors.New("DIRECTOR_OM_CLIENTS names certificates, and no CA is set for them: set DIRECTOR_OM_CLIENT_CA, too")
	}
	// A client shows its certificate in the handshake of TLS, which a listener without one does not make.
	if o.ClientCA != "" && c.Server.TLSCert == "" {
		return errors.New("client certificates need TLS: set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY with " +
			"DIRECTOR_OM_CLIENT_CA")
	}
	return nil
}
