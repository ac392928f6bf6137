package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/migrations"
)

// prepare migrates the schema, and fills in the settings that an operator and a login would provide.
func (d *devRun) prepare(ctx context.Context) (err error) {
	began := time.Now()
	// The direct URL bypasses a pooler: the lock that serializes migrations needs a session.
	applied, err := migrations.Up(ctx, d.conf.config.directURL(), d.log)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		fmt.Fprintf(d.stdout, "Created the tables: %d migrations in %s.\n", len(applied),
			briefDuration(time.Since(began).Round(100*time.Millisecond)))
	}
	// After the migration, whose tables they need.
	if err := d.applyPools(ctx); err != nil {
		return err
	}
	// For a DATABASE_URL the settings have the key, which other processes of that database share.
	if d.privateCluster != nil || d.conf.config.KEKs == nil {
		if err := d.conf.config.useKEKsOf(d.dataDir); err != nil {
			return err
		}
	}
	// The issuer is made also where another key set verifies players: `token mint` signs with its key.
	issuer, err := d.dataDir.ensureIssuer()
	if err != nil {
		return err
	}
	if d.conf.config.JWKS == "" {
		d.conf.config.JWKS = issuer.JWKS()
	}
	// Metrics are on, unlike for serve: on loopback no other machine reads them.
	if d.conf.config.Server.MetricsAddr == "" {
		d.conf.config.Server.MetricsAddr = pickFreeAddr(ctx, "127.0.0.1:9090")
	}
	if err := d.prepareOrchestrator(ctx); err != nil {
		return err
	}
	d.prepareRealtime(ctx)
	if err := d.prepareConsole(ctx); err != nil {
		return err
	}
	d.prepareProviders()
	d.preparePlayers()
	// The source decides and not the value, so that --bevygap off stays off.
	if d.conf.sourceOf("bevygap") == fromDefault {
		d.conf.config.BevygapPlayers = bevygapGuests
	}
	if d.conf.config.NATS.Addr == "" {
		d.conf.config.NATS.Addr = pickFreeAddr(ctx, "127.0.0.1:4222")
	}
	// Last: dev's defaults are filled in, and what is missing now only the operator can add.
	return d.conf.config.checkServe()
}

// applyPools declares the pools of the settings.
func (d *devRun) applyPools(ctx context.Context) error {
	if d.poolFile == nil {
		return nil
	}
	// A store of its own: the process's is opened later, with settings that prepare still fills in.
	store, err := db.Open(ctx, d.conf.config.store())
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Declare(ctx, db.Declaration{Author: "director dev", AppVersions: d.poolFile.Apps,
		Pools: d.poolFile.Pools})
	return atFile(d.conf.config.PoolsFile, refusalText(d.poolFile.Locate(err)))
}

// prepareOrchestrator fills in the address and the keys of the orchestrator of Rivalis. The keys are made once and
// kept.
func (d *devRun) prepareOrchestrator(ctx context.Context) (err error) {
	if d.conf.config.Orchestrator.Options.Addr == "" {
		d.conf.config.Orchestrator.Options.Addr = pickFreeAddr(ctx, "127.0.0.1:7350")
	}
	if d.conf.config.Orchestrator.Options.AgentKeys == nil {
		if d.conf.config.Orchestrator.Options.AgentKeys, err = d.dataDir.ensureSecret("agent-key"); err != nil {
			return err
		}
	}
	if d.conf.config.Orchestrator.AdminKeys == nil {
		d.conf.config.Orchestrator.AdminKeys, err = d.dataDir.ensureSecret("admin-key")
	}
	return err
}

// prepareProviders lets servers run as processes of this machine, and people start others by hand.
func (d *devRun) prepareProviders() {
	if d.conf.sourceOf("providers") == fromDefault {
		d.conf.config.ProviderNames = []string{providerManual, providerProcess}
	}
	if d.conf.config.Processes.Commands == nil {
		d.conf.config.Processes.Commands = arenaCommand()
	}
	// Servers that people start by hand run on this machine, and need no public URL.
	d.conf.config.isDevelopment = true
}

// preparePlayers lets web pages of this machine call the player routes, and players name their party.
func (d *devRun) preparePlayers() {
	// The source decides, so that an operator can allow no origin with a value of their own.
	if d.conf.sourceOf("cors-origins") == fromDefault {
		d.conf.config.Server.CORSOrigins = pageOrigins
	}
	// Development has no backend that permits parties.
	if d.conf.sourceOf("open-parties") == fromDefault {
		d.conf.config.Server.OpenParties = true
	}
}

// pickFreeAddr returns the address if it is free, or else one with any free port: several `director dev` may run on a
// machine, and Rivalis, Nexis or NATS itself may have its usual port.
func pickFreeAddr(ctx context.Context, addr string) string {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "127.0.0.1:0"
	}
	// Another program may take the port before we listen again: then the start fails, and says which flag to set.
	_ = listener.Close()
	return addr
}

// prepareConsole fills in the address of the console, and a token with which it is opened. The token is made once and
// kept.
func (d *devRun) prepareConsole(ctx context.Context) error {
	if d.conf.config.Console.Addr == "" {
		d.conf.config.Console.Addr = pickFreeAddr(ctx, "127.0.0.1:8090")
	}
	if len(d.conf.config.Server.OpsTokens) > 0 {
		return nil // people log in with one of these; the printed link contains no token
	}
	secrets, err := d.dataDir.ensureSecret("console-token")
	for _, secret := range secrets {
		d.conf.config.Server.OpsTokens = append(d.conf.config.Server.OpsTokens, "dev="+secret)
	}
	return err
}

// prepareRealtime fills in the addresses of the realtime lobby and the values of Nexis.
func (d *devRun) prepareRealtime(ctx context.Context) {
	if d.conf.config.Realtime.Addr == "" {
		d.conf.config.Realtime.Addr = pickFreeAddr(ctx, "127.0.0.1:4000")
	}
	if d.conf.config.Projects.Addr == "" {
		d.conf.config.Projects.Addr = pickFreeAddr(ctx, "127.0.0.1:3000")
	}
	if len(d.conf.config.Projects.Options.Tokens) == 0 {
		// Everybody knows this token, but the control API listens on loopback only, unless its address is set.
		d.conf.config.Projects.Options.Tokens = []string{nexisInternalToken}
	}
	if d.conf.sourceOf("realtime-conformance") == fromDefault {
		d.conf.config.Realtime.Conformance = true
	}
	d.conf.config.useNexisSecrets()
}

// makeDemoProject makes the project and the key of Nexis' examples, unless they exist.
func (p *process) makeDemoProject(ctx context.Context) error {
	_, err := p.store.CreateProject(ctx,
		db.NewProject{ID: nexisDemoProject, Name: "demo", Region: p.conf.config.Realtime.Region, Actor: "director dev"})
	if err != nil && !fault.Is(err, fault.Conflict) { // Conflict: an earlier run has made it
		return err
	}
	// The secret of the key is dropped: tokens are signed with that of the project, as Nexis' scripts do.
	_, _, err = p.store.CreateProjectKey(ctx, db.NewProjectKey{
		ProjectID: nexisDemoProject, ID: nexisDemoKey, Name: "demo-default", Scopes: []string{db.ScopeMint},
		Actor: "director dev", Seal: p.sealer.NewProjectSecret,
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}

// arenaCommand returns the command of the example game, if it is installed beside this program or on PATH.
func arenaCommand() map[string][]string {
	found := map[string][]string{}
	if self, err := os.Executable(); err == nil {
		// Looked up first beside this program: that command is of the same release.
		beside := filepath.Join(filepath.Dir(self), "arena")
		if path, err := exec.LookPath(beside); err == nil {
			found["arena"] = []string{path, "server"}
			return found
		}
	}
	if path, err := exec.LookPath("arena"); err == nil {
		path, err = filepath.Abs(path) // PATH may have relative directories
		if err == nil {
			found["arena"] = []string{path, "server"}
		}
	}
	return found // empty and not nil, which checkProvision would refuse
}
