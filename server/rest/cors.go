package rest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-contrib/cors"
	"github.com/gin-gonic/gin"
)

// crossOrigin allows pages of the listed origins ("https://play.example") to call the API; "*" allows all pages.
// Callers authenticate with a header and never with cookies, so the CORS option for credentials stays off.
func crossOrigin(origins []string) (gin.HandlerFunc, error) {
	for _, origin := range origins {
		// The library accepts patterns too. Some invalid ones panic only at the first request, so none are allowed.
		if origin != "*" && (strings.Contains(origin, "*") ||
			!strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://")) {
			return nil, fmt.Errorf("CORS origin %q: want http://host, https://host or *", origin)
		}
	}
	config := cors.Config{
		AllowOrigins: origins,
		AllowMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
		AllowHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Client-Build",
			headerRequestID},
		ExposeHeaders: []string{headerRequestID, "Retry-After", "WWW-Authenticate", headerCell},
		MaxAge:        time.Hour,
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("CORS origins: %w", err)
	}
	return cors.New(config), nil
}
