package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/examples/openmatch/director"
	"github.com/lattice-director/director/examples/openmatch/frontend"
	"github.com/lattice-director/director/examples/openmatch/matchfunction"
)

// mode is the tag of all players.
const mode = "duel"

// matchProfiles returns two profiles that overlap: both propose players of medium skill, and Open Match keeps the
// better proposal.
func matchProfiles() []*pb.MatchProfile {
	profile := func(name string, least, most float64) *pb.MatchProfile {
		return &pb.MatchProfile{Name: name, Pools: []*pb.Pool{{
			Name:               name,
			TagPresentFilters:  []*pb.TagPresentFilter{{Tag: mode}},
			DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: matchfunction.Skill, Min: least, Max: most}},
		}}}
	}
	return []*pb.MatchProfile{profile("rookies", 0, 1500), profile("veterans", 1000, 3000)}
}

// dialPlain opens a connection as Open Match's tutorials do.
func dialPlain(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// runAll runs frontend, director and match function until the players have played.
func (c config) runAll(ctx context.Context, log *slog.Logger) error {
	// The players call stop: match function and director run for as long as somebody plays.
	ctx, stop := context.WithCancel(ctx)
	parts, ctx := errgroup.WithContext(ctx)
	defer stop()
	// Room for one address, so that the match function does not wait for a director that has ended.
	listening := make(chan string, 1)
	// The director waits for the address, which it names to Open Match: it may have any free port.
	parts.Go(func() error { return c.serveFunction(ctx, log, func(addr string) { listening <- addr }) })
	parts.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case addr := <-listening:
			return c.runDirector(ctx, log, cmp.Or(c.functionAddress, addr))
		}
	})
	parts.Go(func() error {
		defer stop()
		return c.runPlayers(ctx, log)
	})
	return parts.Wait()
}

// functionAddr is the address at which Open Match reaches the match function.
func (c config) functionAddr() string { return cmp.Or(c.functionAddress, c.listenAddress) }

// serveFunction serves the match function until ctx ends. It calls started with the address that it listens on.
func (c config) serveFunction(ctx context.Context, log *slog.Logger, started func(addr string)) error {
	query, err := dialPlain(c.queryAddress)
	if err != nil {
		return err
	}
	defer func() { _ = query.Close() }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listenAddress)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterMatchFunctionServer(server, &matchfunction.Function{Query: pb.NewQueryServiceClient(query)})
	defer context.AfterFunc(ctx, server.Stop)()
	log.LogAttrs(ctx, slog.LevelInfo, "match function listens", slog.String("addr", listener.Addr().String()))
	started(listener.Addr().String())
	err = server.Serve(listener)
	// After the end of ctx, Serve returns because it was stopped.
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// runDirector runs the director until ctx ends.
func (c config) runDirector(ctx context.Context, log *slog.Logger, function string) error {
	host, portText, err := net.SplitHostPort(function)
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return err
	}
	backend, err := dialPlain(c.backendAddress)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	d := director.Director{
		Backend:  pb.NewBackendServiceClient(backend),
		Function: &pb.FunctionConfig{Host: host, Port: int32(port), Type: pb.FunctionConfig_GRPC},
		Profiles: matchProfiles(), Allocate: newAllocator(), Log: log,
	}
	d.Run(ctx)
	return nil
}

// newAllocator returns an invented game server for each match. A real one calls the service that runs game servers.
func newAllocator() func(context.Context, *pb.Match) (string, error) {
	var servers atomic.Int64
	return func(context.Context, *pb.Match) (string, error) {
		return fmt.Sprintf("game-server-%d.example:7777", servers.Add(1)), nil
	}
}

// runPlayers runs all players at the same time, and logs their results.
func (c config) runPlayers(ctx context.Context, log *slog.Logger) error {
	conn, err := dialPlain(c.frontendAddress)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	f := frontend.Frontend{OpenMatch: pb.NewFrontendServiceClient(conn), Timeout: c.playerTimeout}
	// The first error of Open Match ends the wait of all players.
	players, ctx := errgroup.WithContext(ctx)
	var played, alone atomic.Int64
	for n := range c.playerCount {
		players.Go(func() error {
			player := frontend.Player{Name: fmt.Sprintf("player-%d", n), Mode: mode, Skill: rand.Float64() * 2500}
			connection, err := f.Play(ctx, player)
			if errors.Is(err, frontend.ErrNobody) {
				alone.Add(1)
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", player.Name, err)
			}
			played.Add(1)
			log.LogAttrs(ctx, slog.LevelInfo, "connects", slog.String("player", player.Name),
				slog.String("to", connection))
			return nil
		})
	}
	err = players.Wait()
	log.LogAttrs(ctx, slog.LevelInfo, "all have played", slog.Int64("matched", played.Load()),
		slog.Int64("alone", alone.Load()))
	return err
}
