package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/server/openmatch"
)

// openMatch is how Open Match's clients are served.
func (c *Config) openMatch() []setting {
	return []setting{
		{flag: "grpc-addr", section: sectionOpenMatch, by: byServers, value: addresses(&c.GRPCAddrs),
			help: "Where Open Match's clients are served over gRPC, and with it their REST under /v1/ at the API's address. Each address serves all: " +
				"`:50503,:50504,:50505` are Open Match's own. Not set: nowhere"},
		{flag: "om-tokens", section: sectionOpenMatch, by: byServers, secret: true, value: secrets(&c.OMTokens),
			help: "The secrets that Open Match's clients send as `authorization: Bearer …`. `frontend=…` opens one service, of frontend, backend and query"},
		{flag: "om-client-ca", section: sectionOpenMatch, by: byServers, value: text(&c.OMClientCA, "a PEM file"),
			help: "Who signs the certificates of clients that are let in without a token. It needs TLS"},
		{flag: "om-clients", section: sectionOpenMatch, by: byServers, value: list(&c.OMClients, "names in certificates, with frontend=, backend= or query= before them"),
			help: "Whose certificates open which service: DNS, URI or common names. Not set: every certificate opens all"},
		{flag: "om-open", section: sectionOpenMatch, def: "false", by: byServers, value: boolean(&c.OMOpen),
			help: "Serve Open Match's clients without tokens and certificates: anybody who reaches a port may read and change all tickets"},
		{flag: "om-region", section: sectionOpenMatch, def: "global", by: byServers, value: regionName(&c.OMRegion),
			help: "Where the tickets are. Replicas with the same one are one Open Match"},
		{flag: "om-registration", section: sectionOpenMatch, def: "250ms", fleetWide: true, by: byServers, value: duration(&c.OMRegistration, 0, time.Minute),
			help: "For how long calls of FetchMatches come together, so that no ticket is in two of their matches"},
		{flag: "om-collection", section: sectionOpenMatch, def: "20s", fleetWide: true, by: byServers, value: duration(&c.OMCollection, 10*time.Millisecond, 10*time.Minute),
			help: "For how long match functions may go on after that"},
		{flag: "om-pending-for", section: sectionOpenMatch, def: "1m", fleetWide: true, by: byLoops, value: duration(&c.OMPendingFor, 10*time.Millisecond, day),
			help: "Tickets of a match that nobody assigns are matched again after this; a backfill that is not acknowledged for four fifths of it expires"},
		{flag: "om-assigned-for", section: sectionOpenMatch, def: "10m", fleetWide: true, by: byLoops, value: duration(&c.OMAssignedFor, 10*time.Millisecond, 30*day),
			help: "How long an assigned ticket can still be read"},
		{flag: "om-page-size", section: sectionOpenMatch, def: "10000", by: byServers, value: integer(&c.OMPageSize, 10, 10_000),
			help: "Tickets in a message of a query, of 3.5 MiB at most"},
		{flag: "om-max-ticket", section: sectionOpenMatch, def: "64KiB", by: byServers, value: size(&c.OMMaxTicket, 256, 1<<20),
			help: "The size of a ticket, a backfill or an assignment, without its id and time; larger ones are refused"},
		{flag: "om-max-watchers", section: sectionOpenMatch, def: "32768", by: byServers, value: integer(&c.OMMaxWatchers, 1, 1_000_000),
			help: "How many calls of WatchAssignments a replica holds, at about 15 KiB each, 45 with garbage; more are told to try another one"},
		{flag: "om-query-memory", section: sectionOpenMatch, def: "0", by: byServers, value: size(&c.OMQueryMemory, 0, 1<<40),
			help: "What the answers of queries may take in a replica until clients have read them, 16MiB at least; more queries are told RESOURCE_EXHAUSTED. " +
				"0: a quarter of the memory limit (the container's, or GOMEMLIMIT), 128MiB at most"},
		{flag: "om-proposal-memory", section: sectionOpenMatch, def: "0", by: byServers, value: size(&c.OMProposalMemory, 0, 1<<40),
			help: "What match functions may have a replica keep of proposals; a call that exceeds it fails. 0: a quarter of the memory limit, 512MiB at most"},
		{flag: "om-functions", section: sectionOpenMatch, by: byServers, value: list(&c.OMFunctions, "hosts (*. for all below), addresses or CIDRs"),
			help: "Where match functions may be: FetchMatches makes the director connect to where its caller says. Those on loopback need no entry where all listeners " +
				"are on loopback, else one such as localhost or 127.0.0.1"},
		{flag: "om-function-ca", section: sectionOpenMatch, by: byServers, value: text(&c.OMFunctionCA, "a PEM file"),
			help: "Who signs the certificates of match functions, which are called with TLS then, and that of an evaluator at grpcs:// or https://. " +
				"Not set: match functions are called in plain text, and an evaluator's certificate is one that this system trusts"},
		{flag: "om-evaluator", section: sectionOpenMatch, by: byServers, value: evaluatorURL(&c.OMEvaluator),
			help: "Who decides between proposals for the same tickets. Not set: the default evaluator, by score"},
		{flag: "om-player-arg", section: sectionOpenMatch, by: byServers, value: text(&c.OMPlayerArg, "the name of a string_arg"),
			help: "The string_arg that names the player, who may then have one live ticket. Not set: any number"},
	}
}

// openMatchOptions is nil where Open Match is not served.
func (c *Config) openMatchOptions() *openmatch.Options {
	if len(c.GRPCAddrs) == 0 {
		return nil
	}
	return &openmatch.Options{
		Region: c.OMRegion, Registration: c.OMRegistration, Collection: c.OMCollection, Evaluator: c.OMEvaluator, Functions: c.OMFunctions, FunctionCA: c.OMFunctionCA,
		PlayerArg: c.OMPlayerArg, Addrs: c.GRPCAddrs, HTTPAddr: c.Addr, Tokens: c.OMTokens, ClientCA: c.OMClientCA, Clients: c.OMClients, Open: c.OMOpen,
		MaxTicket: c.OMMaxTicket, MaxWatchers: c.OMMaxWatchers, PageSize: c.OMPageSize,
		QueryMemory: memoryOr(c.OMQueryMemory, 128<<20), ProposalMemory: memoryOr(c.OMProposalMemory, 512<<20), QueueMemory: memoryOr(0, 128<<20) / 2,
	}
}

// checkOpenMatch lets nobody in by accident.
func (c *Config) checkOpenMatch() error {
	o := c.openMatchOptions()
	if o == nil {
		return nil
	}
	if addr := o.Exposed(); addr != "" {
		return fmt.Errorf("anybody who reaches %s could read and change all tickets: set DIRECTOR_OM_TOKENS ('openssl rand -hex 24' makes one) "+
			"or DIRECTOR_OM_CLIENT_CA, listen on loopback, or say --om-open if that is what you want", addr)
	}
	if len(c.OMClients) > 0 && c.OMClientCA == "" {
		return errors.New("DIRECTOR_OM_CLIENTS names certificates, and nobody is said to sign them: set DIRECTOR_OM_CLIENT_CA, too")
	}
	if c.OMClientCA != "" && c.TLSCert == "" {
		return errors.New("certificates of clients are judged with TLS only: set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY beside DIRECTOR_OM_CLIENT_CA")
	}
	return nil
}
