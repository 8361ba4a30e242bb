package registry

import (
	"net/http"
	"strings"
	"sync/atomic"
)

// User and Password are asked for by every image whose name begins with private.
const (
	User     = "playground"
	Password = "for-friends-only"
)

const private = "private/"

// keeper guards private images, once it is shut.
type keeper struct {
	next http.Handler
	shut atomic.Bool
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	known := user == User && password == Password
	if k.shut.Load() && strings.HasPrefix(r.URL.Path, "/v2/"+private) && !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+Name+`"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return
	}
	k.next.ServeHTTP(w, r)
}
