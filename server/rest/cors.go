package rest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-contrib/cors"
	"github.com/gin-gonic/gin"
)

// crossOrigin lets browsers on the listed origins ("https://play.example") call us, all with "*". Callers prove who they
// are by a header of their own, never by cookies, so credentials stay off.
func crossOrigin(origins []string) (gin.HandlerFunc, error) {
	for _, origin := range origins {
		// The library would take patterns too, and some of them panic only when the first request comes.
		if origin != "*" && (strings.Contains(origin, "*") ||
			!strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://")) {
			return nil, fmt.Errorf("CORS origin %q: want http://host, https://host or *", origin)
		}
	}
	config := cors.Config{
		AllowOrigins:  origins,
		AllowMethods:  []string{http.MethodGet, http.MethodPost},
		AllowHeaders:  []string{"Authorization", "Content-Type", "Idempotency-Key", headerRequestID},
		ExposeHeaders: []string{headerRequestID, "Retry-After", "WWW-Authenticate"},
		MaxAge:        time.Hour,
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("CORS origins: %w", err)
	}
	return cors.New(config), nil
}
