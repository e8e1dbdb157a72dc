/*
 * HTTP over libmicrohttpd: one thread, texts that are there already. See serve.h.
 *
 * Of clients nothing is believed. Connections and the memory of each are limited, and so is what
 * one address may ask in a second; a connection that completes no request for PATIENCE_NS is ended,
 * however busily it sends single bytes, and when there are too many, the one that has completed
 * none for longest makes room for each new one. A page from elsewhere that a browser shows cannot
 * reach us by a name of its own (Host), nor http_push (Origin).
 */
#include "serve/serve.h"

#include <assert.h>
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "common/cli.h"
#include "serve/serve_push.h"

#define PATIENCE_NS      ((uint64_t)20 * 1000 * 1000 * 1000)
#define KERNELS_ASKED_NS ((uint64_t)5 * 1000 * 1000 * 1000)

enum {
    CONNECTION_MEMORY_B = 16 << 10, /* a request's head has to fit */
    IDLE_S = 10,
    ADDRESSES = 256, /* whose rate is known; a power of two */
    SPARE = 32,      /* connections beyond the limit: for these, others are being ended */
    LOGIN_MAX_B = 1024,
    WRONG_TOKEN_COST = 20, /* requests */
};

/* What is used of the library, without its prefix. */
#define LIBRARY_LIST(X)                                                                            \
    X(start_daemon)                                                                                \
    X(stop_daemon)                                                                                 \
    X(create_response_from_buffer)                                                                 \
    X(destroy_response)                                                                            \
    X(add_response_header)                                                                         \
    X(queue_response)                                                                              \
    X(lookup_connection_value)                                                                     \
    X(get_connection_values)                                                                       \
    X(get_connection_info)

/* It brings GnuTLS, which takes longer to load than all else that the command needs. */
static struct {
#define X(name) __typeof__(MHD_##name) *name;
    LIBRARY_LIST(X)
#undef X
} mhd;

struct connection {
    int fd; /* -1: the place is free */
    bool is_cut;
    bool has_completed; /* a request */
    uint64_t since_ns;  /* it began, or completed a request */
};

/* Tokens of a bucket that fills again. */
struct address {
    uint8_t ip[16];
    double left;
    uint64_t seen_ns;
};

static struct {
    const struct serve_options *options;
    int fd;        /* that listens */
    bool is_local; /* only this host can connect */
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* all below */
    struct MHD_Response *texts[SERVE_TEXT_COUNT];
    struct connection *connections;
    struct address addresses[ADDRESSES];
    struct serve_counts counts;
    _Atomic uint64_t kernels_asked_ns;
} http = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A request that brings something. */
struct upload {
    struct hd_buf body;
    unsigned status; /* 0: so far it is good */
};

static bool http_library_open(void)
{
    void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return false;
#define X(name)                                                                                    \
    mhd.name = (__typeof__(mhd.name))dlsym(handle, "MHD_" #name);                                  \
    if (!mhd.name)                                                                                 \
        return false;
    LIBRARY_LIST(X)
#undef X
    return true;
}

/* ---- answers */

static void http_add_headers(struct MHD_Response *response, const char *type, bool is_kept)
{
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy",
         "default-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; "
         "frame-ancestors 'none'"},
    };

    (void)mhd.add_response_header(response, "Content-Type", type);
    (void)mhd.add_response_header(response, "Cache-Control", is_kept ? "no-cache" : "no-store");
    for (size_t i = 0; i < HD_COUNT_OF(always); i++)
        (void)mhd.add_response_header(response, always[i][0], always[i][1]);
}

/* Of constant text, or of text that the library frees. NULL: no memory; the text is freed. */
static struct MHD_Response *http_response_of(const char *text, size_t len, bool takes,
                                             const char *type)
{
    struct MHD_Response *response = mhd.create_response_from_buffer(
        len, (void *)(uintptr_t)text, takes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (response)
        http_add_headers(response, type, !takes);
    else if (takes)
        hd_free((void *)(uintptr_t)text);
    return response;
}

static enum MHD_Result http_send_response(struct MHD_Connection *c, unsigned status,
                                          struct MHD_Response *response)
{
    assert(status >= 100 && response);
    pthread_mutex_lock(&http.lock);
    http.counts.responses[HD_MIN(status / 100, 5u)]++;
    pthread_mutex_unlock(&http.lock);
    return mhd.queue_response(c, status, response);
}

static enum MHD_Result http_send_once(struct MHD_Connection *c, unsigned status,
                                      struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    enum MHD_Result result = http_send_response(c, status, response);
    mhd.destroy_response(response);
    return result;
}

static struct MHD_Response *http_error_response(const char *why)
{
    struct hd_json j;

    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "error", why);
    hd_json_close(&j, '}');
    hd_buf_putc(&j.buf, '\n');
    size_t len = j.buf.len;
    char *text = hd_buf_take(&j.buf);
    return text ? http_response_of(text, len, true, "application/json") : NULL;
}

static enum MHD_Result http_send_error(struct MHD_Connection *c, unsigned status, const char *why)
{
    struct MHD_Response *response = http_error_response(why);

    if (response && status == 401)
        (void)mhd.add_response_header(response, "WWW-Authenticate", "Bearer realm=\"heddle\"");
    if (response && status == 405)
        (void)mhd.add_response_header(response, "Allow", "GET, HEAD");
    if (response && status == 429)
        (void)mhd.add_response_header(response, "Retry-After", "1");
    if (response && status >= 400 && status != 401 && status != 404)
        (void)mhd.add_response_header(response, "Connection", "close");
    return http_send_once(c, status, response);
}

static enum MHD_Result http_send_text(struct MHD_Connection *c, enum serve_text which)
{
    enum MHD_Result result = MHD_NO;

    assert(which < SERVE_TEXT_COUNT);
    pthread_mutex_lock(&http.lock);
    struct MHD_Response *response = http.texts[which];
    if (response) {
        http.counts.responses[2]++;
        result = mhd.queue_response(c, 200, response);
    }
    pthread_mutex_unlock(&http.lock);
    return response ? result : http_send_error(c, 503, "nothing was measured yet");
}

/* ---- who may ask */

static const char *http_header(struct MHD_Connection *c, const char *name)
{
    return mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Takes as long whatever is given. */
static bool http_is_token(const char *given, size_t len)
{
    const char *token = http.options->token;
    size_t token_len = strlen(token);
    unsigned char differ = len != token_len;

    for (size_t i = 0; i < token_len; i++)
        differ |= (unsigned char)(token[i] ^ (len ? given[i % len] : 1));
    return !differ;
}

static bool http_has_token(struct MHD_Connection *c)
{
    const char *given = http_header(c, "Authorization");
    const char *cookie = mhd.lookup_connection_value(c, MHD_COOKIE_KIND, "heddle_token");

    if (given && !strncasecmp(given, "Bearer ", 7))
        return http_is_token(given + 7, strlen(given + 7));
    return cookie && http_is_token(cookie, strlen(cookie));
}

/* Which of the places an address has: its own, or that of whoever was not seen for longest. */
static struct address *http_address_locked(const uint8_t ip[16], uint64_t now_ns)
{
    struct address *oldest = &http.addresses[0];

    for (size_t i = 0; i < ADDRESSES; i++) {
        struct address *a = &http.addresses[i];

        if (!memcmp(a->ip, ip, sizeof(a->ip)) && a->seen_ns)
            return a;
        if (a->seen_ns < oldest->seen_ns)
            oldest = a;
    }
    *oldest = (struct address){.left = 2.0 * (double)http.options->rate, .seen_ns = now_ns};
    memcpy(oldest->ip, ip, sizeof(oldest->ip));
    return oldest;
}

static void http_ip_of(struct MHD_Connection *c, uint8_t out[16])
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *at = info ? info->client_addr : NULL;

    memset(out, 0, 16);
    if (at && at->sa_family == AF_INET)
        memcpy(out, &((const struct sockaddr_in *)(const void *)at)->sin_addr, 4);
    else if (at && at->sa_family == AF_INET6) /* of a network of its own: its first half */
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr, 8);
}

static bool http_may_go_on(struct MHD_Connection *c, double cost)
{
    uint64_t now_ns = reg_now_ns();
    double rate = (double)http.options->rate;
    uint8_t ip[16];

    http_ip_of(c, ip);
    pthread_mutex_lock(&http.lock);
    struct address *a = http_address_locked(ip, now_ns);
    assert(now_ns >= a->seen_ns); /* one thread answers */
    a->left += (double)(now_ns - a->seen_ns) * 1e-9 * rate;
    a->left = HD_MIN(a->left, 2 * rate);
    a->seen_ns = now_ns;
    bool may = a->left >= 1;
    a->left -= may ? cost : 0;
    pthread_mutex_unlock(&http.lock);
    return may;
}

static bool http_is_loopback(const struct sockaddr *at)
{
    static const uint8_t mapped[] = {[10] = 0xff, [11] = 0xff, [12] = 127};
    static const uint8_t one[16] = {[15] = 1};

    if (at->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr) >> 24 == 127;
    if (at->sa_family != AF_INET6)
        return false;
    const void *ip = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
    return !memcmp(ip, one, sizeof(one)) || !memcmp(ip, mapped, sizeof(mapped));
}

/* Of "name:port", "[::1]:port": what nobody else can give a meaning, or what was listened at. */
static bool http_is_local_name(const char *host)
{
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    char name[sizeof(http.options->host)];
    struct in_addr ip;

    if (len >= sizeof(name) || len > strlen(host) || (host[len] && host[len] != ':'))
        return false;
    bool has_brackets = *host == '[';
    (void)snprintf(name, sizeof(name), "%.*s", (int)len - 2 * has_brackets, host + has_brackets);
    return !strcasecmp(name, "localhost") || !strcmp(name, "::1") ||
           !strcasecmp(name, http.options->host) ||
           (inet_pton(AF_INET, name, &ip) == 1 && ntohl(ip.s_addr) >> 24 == 127);
}

/* Sent by a page of another site? */
static bool http_is_foreign(struct MHD_Connection *c)
{
    const char *origin = http_header(c, "Origin"), *host = http_header(c, "Host");
    const char *at = origin ? strstr(origin, "://") : NULL;

    return origin && (!at || !host || strcasecmp(at + 3, host) != 0);
}

/* ---- what there is */

extern const char serve_page_html[], serve_page_css[], serve_page_js[], serve_login_html[];
extern const size_t serve_page_html_len, serve_page_css_len, serve_page_js_len,
    serve_login_html_len;

static const struct {
    const char *path, *type, *text;
    const size_t *len;
} assets[] = {
    {"/", "text/html; charset=utf-8", serve_page_html, &serve_page_html_len},
    {"/page.css", "text/css; charset=utf-8", serve_page_css, &serve_page_css_len},
    {"/page.js", "text/javascript; charset=utf-8", serve_page_js, &serve_page_js_len},
};

static enum MHD_Result http_send_asset(struct MHD_Connection *c, size_t index)
{
    assert(index < HD_COUNT_OF(assets));
    return http_send_once(
        c, 200,
        http_response_of(assets[index].text, *assets[index].len, false, assets[index].type));
}

static enum MHD_Result http_send_index(struct MHD_Connection *c)
{
    struct hd_buf text = {0};

    serve_api_index(&text);
    size_t len = text.len;
    char *taken = hd_buf_take(&text);
    return taken ? http_send_once(c, 200, http_response_of(taken, len, true, "application/json"))
                 : MHD_NO;
}

static bool http_wants_openmetrics(struct MHD_Connection *c)
{
    const char *accept = http_header(c, "Accept");

    return accept && strstr(accept, "application/openmetrics-text") != NULL;
}

static enum MHD_Result http_send_api(struct MHD_Connection *c, const char *name)
{
    if (!*name)
        return http_send_index(c);
    for (enum serve_api i = 0; i < SERVE_API_COUNT; i++) {
        if (strcmp(name, serve_api_names[i]) != 0)
            continue;
        if (i == SERVE_API_kernels || i == SERVE_API_snapshot)
            atomic_store(&http.kernels_asked_ns, reg_now_ns());
        return http_send_text(c, SERVE_TEXT_API + i);
    }
    return http_send_error(c, 404, "there is no such thing; /api/v1/ lists what there is");
}

static enum MHD_Result http_get(struct MHD_Connection *c, const char *path)
{
    static const char api[] = "/api/v1/";

    if (!strcmp(path, "/metrics"))
        return http_send_text(c, http_wants_openmetrics(c) ? SERVE_TEXT_OPENMETRICS
                                                           : SERVE_TEXT_PROMETHEUS);
    if (!strcmp(path, "/healthz"))
        return http_send_once(c, 200, http_response_of("ok\n", 3, false, "text/plain"));
    if (!strncmp(path, api, sizeof(api) - 1))
        return http_send_api(c, path + sizeof(api) - 1);
    for (size_t i = 0; i < HD_COUNT_OF(assets); i++)
        if (!strcmp(path, assets[i].path))
            return http_send_asset(c, i);
    return http_send_error(c, 404, "there is no such thing");
}

/* ---- what is brought */

static enum MHD_Result http_push(struct MHD_Connection *c, const struct upload *up)
{
    const char *job = mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "job");
    char why[PUSH_WHY_B];
    unsigned status =
        push_take(hd_str_from(job), (struct hd_str){up->body.ptr, up->body.len}, reg_now_ns(), why);

    if (status != 200)
        return http_send_error(c, status, why);
    return http_send_once(c, 200, http_response_of("ok\n", 3, false, "text/plain"));
}

/* The form of the page that asks for the token: "token=...", and nothing that has to be decoded. */
static enum MHD_Result http_log_in(struct MHD_Connection *c, const struct upload *up)
{
    static const char key[] = "token=";
    size_t key_len = sizeof(key) - 1;
    const char *text = up->body.ptr;
    char cookie[400];

    if (!*http.options->token || up->body.len <= key_len || memcmp(text, key, key_len) != 0 ||
        !http_is_token(text + key_len, up->body.len - key_len)) {
        (void)http_may_go_on(c, WRONG_TOKEN_COST);
        return http_send_error(c, 403, "that is not the token");
    }
    assert(strlen(http.options->token) < sizeof(cookie) - 80);
    struct MHD_Response *response = http_response_of("", 0, false, "text/plain");
    if (!response)
        return MHD_NO;
    (void)snprintf(cookie, sizeof(cookie), "heddle_token=%s; HttpOnly; SameSite=Strict; Path=/",
                   http.options->token);
    (void)mhd.add_response_header(response, "Set-Cookie", cookie);
    (void)mhd.add_response_header(response, "Location", "/");
    return http_send_once(c, 303, response);
}

/* ---- a request */

static bool http_is_path(const char *path, const char *wanted)
{
    return strcmp(path, wanted) == 0;
}

static uint64_t http_announced_B(struct MHD_Connection *c)
{
    const char *length = http_header(c, "Content-Length");
    uint64_t value = 0;

    return length && hd_str_to_u64(hd_str_from(length), 10, &value) ? value : 0;
}

static enum MHD_Result http_count_host(void *count, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    (void)kind;
    (void)value;
    *(unsigned *)count += !strcasecmp(name, "Host");
    return MHD_YES;
}

/* RFC 9112, 3.2: version 1.1 has one, and nobody two. */
static bool http_has_good_host(struct MHD_Connection *c, const char *version)
{
    unsigned count = 0;

    (void)mhd.get_connection_values(c, MHD_HEADER_KIND, http_count_host, &count);
    return count == 1 || (!count && !strcmp(version, "HTTP/1.0"));
}

/* 0, or the status with which it is refused. */
static unsigned http_look_at_head(struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char **out_why)
{
    const char *host = http_header(c, "Host");
    bool is_post = !strcmp(method, "POST"), is_login = http_is_path(path, "/login");

    *out_why = "";
    if (!http_may_go_on(c, 1))
        return *out_why = "too many requests", 429;
    if (!http_has_good_host(c, version))
        return *out_why = "a request says one Host", 400;
    if (http.is_local && !*http.options->token && host && !http_is_local_name(host))
        return *out_why = "this is asked for by another name than localhost", 403;
    if (!is_post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return *out_why = "only GET, and POST /push", 405;
    if (is_post && !http_is_path(path, "/push") && !is_login)
        return *out_why = "nothing is posted there", 405;
    if (http_announced_B(c) > PUSH_BODY_MAX_B)
        return *out_why = "too long", 413;
    if (is_post && http_is_foreign(c))
        return *out_why = "pages of other sites may not post", 403;
    if (*http.options->token && !is_login && !http_has_token(c) &&
        !http_is_path(path, "/healthz")) {
        if (http_header(c, "Authorization"))
            (void)http_may_go_on(c, WRONG_TOKEN_COST);
        return *out_why = "this asks for a token: Authorization: Bearer TOKEN", 401;
    }
    return 0;
}

/* Browsers get a page that asks for the token. */
static enum MHD_Result http_refuse(struct MHD_Connection *c, const char *path, unsigned status,
                                   const char *why)
{
    if (status == 401 && http_is_path(path, "/"))
        return http_send_once(c, 401,
                              http_response_of(serve_login_html, serve_login_html_len, false,
                                               "text/html; charset=utf-8"));
    return http_send_error(c, status, why);
}

/* Too much is read to its end and answered then: the client is still sending. */
static void http_take_body(struct upload *up, const char *path, const char *text, size_t len)
{
    size_t max_B = http_is_path(path, "/push") ? PUSH_BODY_MAX_B : LOGIN_MAX_B;

    assert(up->body.len <= max_B);
    if (up->body.len + len > max_B)
        up->status = 413;
    else
        hd_buf_append(&up->body, text, len);
}

static enum MHD_Result http_on_request(void *user, struct MHD_Connection *c, const char *path,
                                       const char *method, const char *version, const char *text,
                                       size_t *text_len, void **kept)
{
    struct upload *up = *kept;
    const char *why;

    (void)user;
    if (!up) { /* only the head is there: what is refused sends no body */
        *kept = up = hd_new(struct upload);
        unsigned status = http_look_at_head(c, path, method, version, &why);
        if (up && status)
            return http_refuse(c, path, status, why);
        return up ? MHD_YES : MHD_NO;
    }
    if (*text_len) {
        http_take_body(up, path, text, *text_len);
        *text_len = 0;
        return MHD_YES;
    }
    if (up->status || up->body.failed)
        return http_send_error(c, up->status ? up->status : 503, "too long");
    if (!strcmp(method, "POST"))
        return http_is_path(path, "/push") ? http_push(c, up) : http_log_in(c, up);
    return http_get(c, path);
}

/* ---- connections */

static int http_fd_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

/* Ends the connection that has completed no request for longest: where most have never completed
 * one, as with slow clients, one of these. */
static void http_make_room_locked(void)
{
    struct connection *oldest = NULL, *silent = NULL;
    uint64_t nsilent = 0;

    assert(http.counts.connections >= http.options->connections);
    for (uint64_t i = 0; i < http.options->connections + SPARE; i++) {
        struct connection *c = &http.connections[i];
        if (c->fd < 0 || c->is_cut)
            continue;
        if (!oldest || c->since_ns < oldest->since_ns)
            oldest = c;
        if (c->has_completed)
            continue;
        nsilent++;
        if (!silent || c->since_ns < silent->since_ns)
            silent = c;
    }
    if (nsilent > http.options->connections / 2)
        oldest = silent;
    if (!oldest)
        return;
    oldest->is_cut = true;
    http.counts.cut++;
    (void)shutdown(oldest->fd, SHUT_RDWR);
}

static void http_on_connection(void *user, struct MHD_Connection *c, void **kept,
                               enum MHD_ConnectionNotificationCode what)
{
    int fd = http_fd_of(c);

    (void)user;
    pthread_mutex_lock(&http.lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *kept = NULL;
        if (http.counts.connections >= http.options->connections)
            http_make_room_locked();
        for (uint64_t i = 0; i < http.options->connections + SPARE && !*kept; i++)
            if (http.connections[i].fd < 0)
                *kept = &http.connections[i];
        if (*kept)
            *(struct connection *)*kept = (struct connection){.fd = fd, .since_ns = reg_now_ns()};
        http.counts.connections++;
    } else {
        assert(http.counts.connections);
        if (*kept)
            ((struct connection *)*kept)->fd = -1;
        http.counts.connections--;
    }
    pthread_mutex_unlock(&http.lock);
}

static void http_on_completed(void *user, struct MHD_Connection *c, void **kept,
                              enum MHD_RequestTerminationCode how)
{
    struct upload *up = *kept;
    int fd = http_fd_of(c);

    (void)user;
    (void)how;
    if (up) {
        hd_buf_fini(&up->body);
        hd_free(up);
        *kept = NULL;
    }
    pthread_mutex_lock(&http.lock);
    for (uint64_t i = 0; i < http.options->connections + SPARE; i++)
        if (http.connections[i].fd == fd) {
            http.connections[i].since_ns = reg_now_ns();
            http.connections[i].has_completed = true;
        }
    pthread_mutex_unlock(&http.lock);
}

/* The descriptor is the connection's own until http_on_connection() is told that it is over. */
void serve_http_tidy(void)
{
    uint64_t now_ns = reg_now_ns();

    pthread_mutex_lock(&http.lock);
    for (uint64_t i = 0; i < http.options->connections + SPARE; i++) {
        struct connection *c = &http.connections[i];
        if (c->fd < 0 || c->is_cut || now_ns < c->since_ns + PATIENCE_NS)
            continue;
        c->is_cut = true;
        http.counts.cut++;
        (void)shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&http.lock);
    push_expire(now_ns);
}

void serve_http_count(struct serve_counts *out)
{
    pthread_mutex_lock(&http.lock);
    *out = http.counts;
    pthread_mutex_unlock(&http.lock);
}

bool serve_http_wants_kernels(void)
{
    uint64_t asked_ns = atomic_load(&http.kernels_asked_ns);

    return asked_ns && reg_now_ns() - asked_ns < KERNELS_ASKED_NS;
}

static const char *http_type_of(enum serve_text which)
{
    switch (which) {
    case SERVE_TEXT_PROMETHEUS:
        return "text/plain; version=0.0.4; charset=utf-8";
    case SERVE_TEXT_OPENMETRICS:
        return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    default:
        return "application/json";
    }
}

void serve_http_publish(struct hd_buf texts[SERVE_TEXT_COUNT])
{
    for (enum serve_text i = 0; i < SERVE_TEXT_COUNT; i++) {
        size_t len = texts[i].len;
        char *text = hd_buf_take(&texts[i]);
        struct MHD_Response *response =
            text ? http_response_of(text, len, true, http_type_of(i)) : NULL;

        if (!response) /* memory is short: what is there stays */
            continue;
        pthread_mutex_lock(&http.lock);
        struct MHD_Response *old = http.texts[i];
        http.texts[i] = response;
        pthread_mutex_unlock(&http.lock);
        if (old)
            mhd.destroy_response(old);
    }
}

/* ---- start and end */

/* A socket that listens there; -1 and errno. */
static int http_listen_at(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (!bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, 128))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* What a name stands for says whether it is local, not the name. */
int serve_http_listen(const struct serve_options *options)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int code = getaddrinfo(options->host, options->port, &wanted, &found), error = 0;
    bool asks_token = false;

    if (code)
        return cli_error("%s:%s: %s", options->host, options->port, gai_strerror(code));
    http.options = options;
    http.fd = -1;
    for (const struct addrinfo *at = found; at && http.fd < 0; at = at->ai_next) {
        http.is_local = http_is_loopback(at->ai_addr);
        asks_token = !http.is_local && !*options->token;
        http.fd = asks_token ? -1 : http_listen_at(at);
        error = errno;
    }
    freeaddrinfo(found);
    if (http.fd >= 0)
        return CLI_OK;
    if (!asks_token)
        return cli_error("cannot listen at %s:%s: %s", options->host, options->port,
                         strerror(error));
    cli_error("other hosts could connect at %s: that needs --token-file", options->host);
    return CLI_USAGE;
}

static void http_say_where(const struct serve_options *o, int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof(at);
    char port[NI_MAXSERV] = "?";

    if (!getsockname(fd, (struct sockaddr *)&at, &len))
        (void)getnameinfo((struct sockaddr *)&at, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
    printf(strchr(o->host, ':') ? "http://[%s]:%s/\n" : "http://%s:%s/\n", o->host, port);
    fflush(stdout);
}

static bool http_connections_init(uint64_t n)
{
    http.connections = hd_alloc_array(n, sizeof(*http.connections));
    for (uint64_t i = 0; http.connections && i < n; i++)
        http.connections[i].fd = -1;
    return http.connections != NULL;
}

/* Its messages are about single clients. */
static void http_on_message(void *user, const char *format, va_list args)
{
    (void)user;
    (void)format;
    (void)args;
}

int serve_http_open(void)
{
    assert(http.options && !http.connections);
    if (!http_library_open())
        return cli_error("libmicrohttpd.so.12 was not found; install libmicrohttpd12");
    return http_connections_init(http.options->connections + SPARE) ? CLI_OK
                                                                    : cli_error("out of memory");
}

int serve_http_start(void)
{
    const struct serve_options *options = http.options;

    assert(http.fd >= 0 && http.connections && !http.daemon);
    http.daemon =
        mhd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL,
                         http_on_request, NULL, MHD_OPTION_EXTERNAL_LOGGER, http_on_message, NULL,
                         MHD_OPTION_LISTEN_SOCKET, http.fd, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)options->connections + SPARE, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                         (unsigned)(http.is_local ? 0 : HD_MAX(options->connections / 4, 1u)),
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_B,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                         MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, NULL,
                         MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, NULL, MHD_OPTION_END);
    if (!http.daemon)
        return cli_error("cannot start the server");
    http_say_where(options, http.fd);
    return CLI_OK;
}

void serve_http_stop(void)
{
    assert(http.daemon);
    mhd.stop_daemon(http.daemon);
    for (enum serve_text i = 0; i < SERVE_TEXT_COUNT; i++)
        if (http.texts[i])
            mhd.destroy_response(http.texts[i]);
    hd_free(http.connections);
    push_fini();
}
