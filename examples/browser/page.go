package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lattice-director/director/examples/arena/bots"
)

//go:embed page
var files embed.FS

// settings are what the scripts of the pages have to know. They read them from /settings.
type settings struct {
	URLs    []string `json:"urls"`
	Region  string   `json:"region"`
	Mode    string   `json:"mode"`
	Profile string   `json:"profile"`
	Lobby   []string `json:"lobby"` // URLs of the realtime lobby
	// RoomType is the type of the match that a room of the lobby queues for.
	RoomType string `json:"room_type"`
	Bots     int    `json:"bots"` // how many bots queue as players do
}

// newPage returns the handler of the pages, of the built client and of both logins.
func newPage(urls []string, o options, issuer *bots.Issuer) (http.Handler, error) {
	if _, err := os.Stat(filepath.Join(o.sdkDir, "index.js")); err != nil {
		return nil, fmt.Errorf("--sdk: no built client (run make sdk-ts): %w", err)
	}
	page, err := fs.Sub(files, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	// From the directory and not embedded: the client is built apart from this program.
	mux.Handle("GET /sdk/", http.StripPrefix("/sdk/", http.FileServer(http.Dir(o.sdkDir))))
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, settings{URLs: urls, Region: region, Mode: mode, Profile: profile,
			Lobby: strings.Split(o.lobby.urls, ","), RoomType: roomType, Bots: max(0, o.botCount)})
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { serveLogin(w, r, issuer.AccessToken) })
	mux.HandleFunc("POST /lobby-login",
		func(w http.ResponseWriter, r *http.Request) { serveLogin(w, r, o.lobby.mintToken) })
	return withSecurityHeaders(mux), nil
}

// withSecurityHeaders lets the page run its own scripts only, and call directors and game servers wherever they are.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Also http and ws: director and game servers run on this machine without certificates.
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; img-src 'self' data:; connect-src 'self' http: https: ws: wss:; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-cache") // a new build is seen at once
		next.ServeHTTP(w, r)
	})
}

// mintToken returns a token with which a player connects to the lobby.
func (l lobbyAccess) mintToken(ctx context.Context, name string) (string, error) {
	return l.backend.Token(ctx, l.projectID, l.projectKey, name)
}

// playerName matches what the login accepts as the sub of a token.
var playerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// serveLogin returns a token for any name. A real login asks for more.
func serveLogin(w http.ResponseWriter, r *http.Request, mint func(context.Context, string) (string, error)) {
	name := r.FormValue("name")
	if !playerName.MatchString(name) {
		http.Error(w, "a name has 1 to 32 of A-Z a-z 0-9 _ -", http.StatusBadRequest)
		return
	}
	token, err := mint(r.Context(), name)
	if err != nil {
		http.Error(w, "no token: "+err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, map[string]string{"token": token})
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // fails if the browser is gone
}
