package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/server/openmatch"
)

// openMatchSettings returns the settings of the Open Match server.
func (c *Config) openMatchSettings() []setting {
	return []setting{
		{flag: "grpc-addr", section: sectionOpenMatch, by: byServers, value: addresses(&c.GRPCAddrs),
			help: "The gRPC addresses for Open Match's clients. Setting them also serves their REST API under /v1/ at the API's address. Each address serves all services: " +
				"`:50503,:50504,:50505` are Open Match's own ports. Not set: Open Match is not served"},
		{flag: "om-tokens", section: sectionOpenMatch, by: byServers, secret: true, value: secrets(&c.OMTokens),
			help: "The secrets that Open Match's clients send as `authorization: Bearer …`. The prefix `frontend=`, `backend=` or `query=` limits a secret to that service"},
		{flag: "om-client-ca", section: sectionOpenMatch, by: byServers, value: text(&c.OMClientCA, "a PEM file"),
			help: "The CA of client certificates, with which clients need no token. It requires TLS"},
		{flag: "om-clients", section: sectionOpenMatch, by: byServers, value: list(&c.OMClients, "names in certificates, with frontend=, backend= or query= before them"),
			help: "The DNS, URI or common names of client certificates that are accepted, and for which service. Not set: every certificate of the CA, for all services"},
		{flag: "om-open", section: sectionOpenMatch, def: "false", by: byServers, value: boolean(&c.OMOpen),
			help: "Serve Open Match's clients without tokens and certificates: anybody who reaches a port can read and change all tickets"},
		{flag: "om-region", section: sectionOpenMatch, def: "global", by: byLoops | byProfiles, value: gameRegion(&c.OMRegion),
			help: "The region of the tickets and profiles. Replicas and workers with the same region share one queue"},
		{flag: "om-registration", section: sectionOpenMatch, def: "250ms", fleetWide: true, by: byLoops, value: duration(&c.OMRegistration, 0, time.Minute),
			help: "How long a synchronization cycle accepts further FetchMatches calls. No ticket is in two matches of one cycle"},
		{flag: "om-collection", section: sectionOpenMatch, def: "20s", fleetWide: true, by: byLoops, value: duration(&c.OMCollection, 10*time.Millisecond, 10*time.Minute),
			help: "How long match functions may run after that"},
		{flag: "om-pending-for", section: sectionOpenMatch, def: "1m", fleetWide: true, by: byLoops | byProfiles, value: duration(&c.OMPendingFor, 10*time.Millisecond, day),
			help: "Tickets of a match that is not assigned return to the queue after this time; a backfill that is not acknowledged for four fifths of it expires"},
		{flag: "om-assigned-for", section: sectionOpenMatch, def: "10m", fleetWide: true, by: byLoops, value: duration(&c.OMAssignedFor, 10*time.Millisecond, 30*day),
			help: "How long an assigned ticket, and the final state of a player's ticket, can still be read"},
		{flag: "om-page-size", section: sectionOpenMatch, def: "10000", by: byServers, value: integer(&c.OMPageSize, 10, 10_000),
			help: "The number of tickets in one message of a query's answer; a message also has at most 3.5 MiB"},
		{flag: "om-max-ticket", section: sectionOpenMatch, def: "64KiB", by: byLoops, value: size(&c.OMMaxTicket, 256, 1<<20),
			help: "The largest ticket, backfill or assignment, without its id and time; larger ones are refused"},
		{flag: "om-max-watchers", section: sectionOpenMatch, def: "32768", by: byServers, value: integer(&c.OMMaxWatchers, 1, 1_000_000),
			help: "The number of WatchAssignments calls in a replica, at about 15 KiB each (45 KiB with garbage), and of players' calls that wait for a ticket, " +
				"and of game servers' calls that wait for sessions, each; further calls get an error and should use another replica"},
		{flag: "om-query-memory", section: sectionOpenMatch, def: "0", by: byServers, value: size(&c.OMQueryMemory, 0, 1<<40),
			help: "The memory for the answers of queries in a replica until clients have read them, at least 16MiB; further queries get RESOURCE_EXHAUSTED. " +
				"0: a quarter of the memory limit (the container's, or GOMEMLIMIT), at most 128MiB"},
		{flag: "om-proposal-memory", section: sectionOpenMatch, def: "0", by: byLoops, value: size(&c.OMProposalMemory, 0, 1<<40),
			help: "The memory for the proposals of match functions in a process; a call that exceeds it fails. 0: a quarter of the memory limit, at most 512MiB"},
		{flag: "om-functions", section: sectionOpenMatch, by: byLoops, value: list(&c.OMFunctions, "hosts (*. for all below), addresses or CIDRs"),
			help: "The hosts of match functions that callers of FetchMatches and profiles may name. While all listeners are on loopback, functions on loopback " +
				"need no entry; otherwise they need one such as localhost or 127.0.0.1"},
		{flag: "om-function-ca", section: sectionOpenMatch, by: byLoops, value: text(&c.OMFunctionCA, "a PEM file"),
			help: "The CA of match functions, which are then called with TLS, and of an evaluator at grpcs:// or https://. " +
				"Not set: match functions are called in plain text, and the system's CAs verify an evaluator's certificate"},
		{flag: "om-evaluator", section: sectionOpenMatch, by: byLoops, value: evaluatorURL(&c.OMEvaluator),
			help: "The evaluator that decides between proposals for the same tickets. Not set: the built-in default evaluator, by score"},
		{flag: "om-player-arg", section: sectionOpenMatch, fleetWide: true, by: byLoops | byExplain | byReplay, value: text(&c.OMPlayerArg, "the name of a string_arg"),
			help: "The string_arg that identifies the player; a player may then have only one live ticket. Not set: any number"},
		{flag: "ticket-lease", section: sectionOpenMatch, def: "30s", fleetWide: true, by: byServers, value: duration(&c.TicketLease, 0, day),
			help: "A ticket of POST /tickets expires when none of its players has waited for it for this time. 0: only when its time in the queue is over"},
	}
}

// openMatchOptions returns nil if Open Match is not served.
func (c *Config) openMatchOptions() *openmatch.Options {
	if len(c.GRPCAddrs) == 0 {
		return nil
	}
	return &openmatch.Options{
		Region: c.OMRegion, Registration: c.OMRegistration, Collection: c.OMCollection, Evaluator: c.OMEvaluator, Functions: c.OMFunctions, FunctionCA: c.OMFunctionCA,
		PlayerArg: c.OMPlayerArg, Addrs: c.GRPCAddrs, HTTPAddr: c.Addr, Tokens: c.OMTokens, ClientCA: c.OMClientCA, Clients: c.OMClients, OpenToAll: c.OMOpen,
		MaxTicket: c.OMMaxTicket, MaxWatchers: c.OMMaxWatchers, PageSize: c.OMPageSize,
		QueryMemory: memoryOr(c.OMQueryMemory, 128<<20), ProposalMemory: memoryOr(c.OMProposalMemory, 512<<20), QueueMemory: memoryOr(0, 128<<20) / 2,
	}
}

// checkOpenMatch refuses settings that would open the tickets to everybody by mistake.
func (c *Config) checkOpenMatch() error {
	o := c.openMatchOptions()
	if o == nil {
		return nil
	}
	if addr := o.Exposed(); addr != "" {
		return fmt.Errorf("anybody who reaches %s could read and change all tickets: set DIRECTOR_OM_TOKENS ('openssl rand -hex 24' makes one) "+
			"or DIRECTOR_OM_CLIENT_CA, listen on loopback, or allow it with --om-open", addr)
	}
	if len(c.OMClients) > 0 && c.OMClientCA == "" {
		return errors.New("DIRECTOR_OM_CLIENTS names certificates, and no CA is set for them: set DIRECTOR_OM_CLIENT_CA, too")
	}
	if c.OMClientCA != "" && c.TLSCert == "" {
		return errors.New("client certificates need TLS: set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY with DIRECTOR_OM_CLIENT_CA")
	}
	return nil
}
