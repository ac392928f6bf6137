package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

func (p *program) sidecarCommand() *cobra.Command {
	return p.onSettings(&cobra.Command{
		Use:   "sidecar",
		Short: "Run beside a game server in any engine, and do its part with the director",
		Long: "Runs beside one game server, in any language or engine. The game server says that it is ready, and the sidecar registers it,\n" +
			"sends heartbeats, admits players by their session tokens, once each, knows who is expected, and drains.\n\n" +
			"The game server calls it over HTTP, or in lines of text over TCP; docs/how-to/any-engine.md has both. It needs no database.",
		Example: "  FLEET_TOKEN=… director sidecar --sidecar-director https://director.example --sidecar-region eu-west \\\n" +
			"    --sidecar-modes duel --sidecar-capacity 64 --sidecar-endpoint 203.0.113.7:7777\n" +
			"  curl -X POST localhost:9357/ready\n" +
			"  curl localhost:9357/players -H 'Content-Type: application/json' -d '{\"token\": \"…\"}'",
		Args: cli.Exactly(0),
	}, bySidecar, func(ctx context.Context, conf *loaded, _ []string) error { return p.runSidecar(ctx, conf) })
}

// runSidecar listens before it logs that it does, so that a script may wait for the line.
func (p *program) runSidecar(ctx context.Context, conf *loaded) error {
	if err := conf.config.checkSidecar(); err != nil {
		return err
	}
	log := p.newLog(conf)
	// With the environment of Run and not os.Environ: tests pass their own.
	server, urls, deployed, err := conf.config.gameServer(p.environ.osPairs())
	if err != nil {
		return err
	}
	// Made before the listeners: a wrong URL is an error of the settings, which needs no port.
	client, err := sdk.New(sdk.Options{URLs: urls, Logger: log})
	if err != nil {
		return err
	}
	defer client.Close()
	o := conf.config.Sidecar
	o.Client, o.Server, o.IsDeployed, o.Log = client, server, deployed, log
	if o.HTTPListener, err = new(net.ListenConfig).Listen(ctx, "tcp", conf.config.SidecarAddr); err != nil {
		return err
	}
	// For the errors below. Run closes it as well, and a second Close only returns an error.
	defer o.HTTPListener.Close()
	attrs := []slog.Attr{slog.String("addr", o.HTTPListener.Addr().String()),
		slog.String("instance_id", server.InstanceID)}
	if conf.config.SidecarLinesAddr != "" {
		if o.LinesListener, err = new(net.ListenConfig).Listen(ctx, "tcp", conf.config.SidecarLinesAddr); err != nil {
			return err
		}
		defer o.LinesListener.Close()
		attrs = append(attrs, slog.String("lines_addr", o.LinesListener.Addr().String()))
	}
	// After the listeners, which it takes over: a port that is taken fails the start before the game server is
	// registered.
	s, err := sidecar.New(o)
	if err != nil {
		return err
	}
	log.LogAttrs(ctx, slog.LevelInfo, "listening for the game server", attrs...)
	return s.Run(ctx)
}
