package rest

import "github.com/gin-gonic/gin"

// RequireHere is a middleware for routes that all concern one region, such as the universe of a replica. check refuses
// a region that another cell serves.
func RequireHere(region string, check func(region string) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := check(region); err != nil {
			Fail(c, err)
		}
	}
}
