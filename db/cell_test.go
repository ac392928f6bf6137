package db_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

func usCell(regions ...string) db.OtherCell {
	return db.OtherCell{Name: "us", APIAddress: "https://us.example", ServedRegions: regions,
		Listeners: map[string]string{"realtime": "wss://lobby.us.example"}}
}

// Pins a region of two cells, and one that is still served here after it was given away.
func TestCells(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.As("console:ada").Because("a cell of its own")
	set := func(c db.OtherCell) bool {
		changed, err := ada.SetCell(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, b.ReadCells(t.Context()))
		return changed
	}
	require.NoError(t, b.CheckHere("us-east"))
	require.True(t, set(usCell("us-west", "us-east", "us-east")))
	require.False(t, set(usCell("us-east", "us-west")), "the same regions")
	err := b.CheckHere("us-east")
	requireKind(t, fault.Elsewhere, "region_elsewhere", err)
	cell := fault.CellOf(err)
	require.Equal(t, fault.Cell{Name: "us", Region: "us-east",
		Addresses: map[string]string{"api": "https://us.example", "realtime": "wss://lobby.us.example"}}, *cell)
	require.NoError(t, b.CheckHere("eu"))
	_, err = b.FollowLogin(t.Context(), db.LoginRequest{Region: "us-east", Player: "ann"},
		db.Login{WaitingPlace: &fault.LoginPlace{}})
	requireKind(t, fault.Elsewhere, "region_elsewhere", err)
	requireKind(t, fault.Elsewhere, "region_elsewhere",
		b.StartDeployment(t.Context(), "us-east", provision.NewDeployment{}))

	require.True(t, set(db.OtherCell{Name: "west", APIAddress: "http://west.example:8080/director/",
		ServedRegions: []string{"us-west"}}), "taken from the other cell")
	require.Equal(t, "http://west.example:8080/director", fault.CellOf(b.CheckHere("us-west")).Addresses["api"])
	require.Equal(t, []string{"us|{us-east}", "west|{us-west}"},
		b.Rows("SELECT cell, regions::text FROM ops.cells ORDER BY 1"))
	require.True(t, set(usCell("us-central")))
	require.NoError(t, b.CheckHere("us-east"), "no longer of any other cell")

	changed, err := ada.RemoveCell(t.Context(), "us")
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = ada.RemoveCell(t.Context(), "us")
	require.NoError(t, err)
	require.False(t, changed)
	_, err = ada.RemoveCell(t.Context(), "west")
	require.NoError(t, err)
	require.NoError(t, b.ReadCells(t.Context()))
	require.NoError(t, b.CheckHere("us-west"))
	require.Equal(t, []string{
		"cell.set|console:ada|us|a cell of its own", "cell.set|console:ada|west|a cell of its own",
		"cell.set|console:ada|us|a cell of its own",
		"cell.removed|console:ada|us|a cell of its own", "cell.removed|console:ada|west|a cell of its own",
	}, b.Rows("SELECT kind, actor, detail ->> 'cell', detail ->> 'reason' FROM events WHERE kind LIKE 'cell.%' ORDER BY tx, id"))
}

func TestWrongCellsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.As("").Because("test")
	for name, wrong := range map[string]func(*db.OtherCell){
		"a name":         func(c *db.OtherCell) { c.Name = "US" },
		"no address":     func(c *db.OtherCell) { c.APIAddress = "" },
		"another scheme": func(c *db.OtherCell) { c.APIAddress = "ftp://us.example" },
		"a user":         func(c *db.OtherCell) { c.APIAddress = "https://ada:secret@us.example" },
		"a query":        func(c *db.OtherCell) { c.APIAddress = "https://us.example?x" },
		"a space":        func(c *db.OtherCell) { c.APIAddress = "https://us.example/a b" },
		"a long address": func(c *db.OtherCell) {
			c.APIAddress = "https://us.example/" +
				strings.Repeat("a", 512)
		},
		"no region":            func(c *db.OtherCell) { c.ServedRegions = nil },
		"a wrong region":       func(c *db.OtherCell) { c.ServedRegions = []string{"eu", "US"} },
		"an unknown listener":  func(c *db.OtherCell) { c.Listeners = map[string]string{"metrics": "https://us.example"} },
		"a lobby that is http": func(c *db.OtherCell) { c.Listeners = map[string]string{"realtime": "https://us.example"} },
		"a console with a user": func(c *db.OtherCell) {
			c.Listeners = map[string]string{"console": "https://ada@us.example"}
		},
		"too many regions": func(c *db.OtherCell) {
			for i := range 257 {
				c.ServedRegions = append(c.ServedRegions, "r"+strconv.Itoa(i))
			}
		},
	} {
		c := usCell("us-east")
		wrong(&c)
		_, err := ada.SetCell(t.Context(), c)
		requireKind(t, fault.Invalid, "invalid", err)
		require.Empty(t, b.Rows("SELECT cell FROM cells"), name)
	}
	_, err := b.As("").SetCell(t.Context(), usCell("us-east"))
	requireKind(t, fault.Invalid, "invalid", err)
	_, err = b.As("").RemoveCell(t.Context(), "us")
	requireKind(t, fault.Invalid, "invalid", err)
}

// Pins an operator who sends all game servers of a region away with a misspelt region.
func TestARegionWithGameServersStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	ada := b.As("").Because("test")
	_, err := ada.SetCell(t.Context(), usCell("us-east", "eu"))
	requireKind(t, fault.Conflict, "conflict", err)
	require.ErrorContains(t, err, "region eu has game servers here")
	b.ticket(ticketOf(match.Fields{}, "x"))
	_, err = ada.SetCell(t.Context(), usCell("global"))
	require.ErrorContains(t, err, "region global has tickets here")
	forced := usCell("us-east", "eu")
	forced.EvenIfUsed = true
	changed, err := ada.SetCell(t.Context(), forced)
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = ada.SetCell(t.Context(), usCell("eu"))
	require.NoError(t, err, "it has moved already")
	require.True(t, changed)
}
