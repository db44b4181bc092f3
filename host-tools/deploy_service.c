/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as a service of the board. /etc/assayd/deployed lists what was
 * put there, with digests, before any of it is: so it can be taken away again,
 * that and nothing else.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/deploy.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "lib/core/embed.h"
#include "lib/core/hash.h"
#include "lib/net/identity.h"
#include "lib/net/pins.h"
#include "lib/net/target.h"

#define LIST "/etc/assayd/deployed"
#define CONFIG "/etc/default/assayd"
#define UNIT "/etc/systemd/system/assayd.service"
#define DROP_IN "/etc/systemd/system/assayd.service.d/keys.conf"
#define KEYS "/etc/assayd/"
#define OWN_PATH "/usr/local/bin/assayd" /* in the embedded texts */
#define KEY_MAX (64u * 1024u)
#define MAX_FILES 6

ASSAY_EMBED(assay_init_service, "agent/init/assayd.service");
ASSAY_EMBED(assay_init_script, "agent/init/assayd.init");

/* The private key is root's, and a service with a user of its own could not
 * read it. No capability is given back. */
static const char drop_in[] = "# By assay deploy --keys.\n"
                              "[Service]\nDynamicUser=no\n";

struct file {
    const char *path, *mode;
    const uint8_t *data;
    size_t bytes;
};

struct plan {
    struct file v[MAX_FILES];
    size_t n;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* ---- what is wanted ------------------------------------------------------- */

static bool is_made_of(const char *s, const char *marks)
{
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr(marks, *s) == NULL)
            return false;
    }
    return true;
}

static int refuse_listen(enum assay_message_id id, const char *value,
                         struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EUSAGE, id, "value", value, NULL);
}

/* What the agent would refuse at its start, when the old one is gone. */
static int check_listen(const struct assay_options *o, struct assay_err *err)
{
    struct assay_target t;
    bool is_tcp, is_tls;
    int rc;

    if (o->listen == NULL)
        return 0;
    /* It becomes a word of a file that a shell and systemd read. */
    if (strlen(o->listen) > 200 || !is_made_of(o->listen, "._/+-:[]@"))
        return refuse_listen(ASSAY_MSG_DEPLOY_LISTEN, o->listen, err);
    rc = assay_target_parse(&t, o->listen, err);
    if (rc < 0)
        return rc;
    is_tcp = t.kind == ASSAY_TARGET_TCP;
    is_tls = is_tcp && t.is_tls;
    rc = t.kind == ASSAY_TARGET_EXEC ? -1 : 0;
    assay_target_close(&t);
    if (rc < 0)
        return refuse_listen(ASSAY_MSG_DEPLOY_LISTEN, o->listen, err);
    if (is_tls && o->keys == NULL)
        return refuse_listen(ASSAY_MSG_DEPLOY_LISTEN_KEYS, o->listen, err);
    if (!is_tcp && o->keys != NULL)
        return refuse_listen(ASSAY_MSG_DEPLOY_LISTEN_PLAIN, o->listen, err);
    return 0;
}

/* Read as the agent will read them. */
static int check_keys(const struct assay_options *o, struct assay_err *err)
{
    struct assay_identity id = {0};
    struct assay_pins pins = {0};
    char *cert, *key, *list;
    int rc;

    if (o->keys == NULL)
        return 0;
    cert = assay_file_join(o->keys, "cert.pem");
    key = assay_file_join(o->keys, "key.pem");
    list = assay_file_join(o->keys, "authorized");
    rc = cert == NULL || key == NULL || list == NULL
             ? no_memory(err)
             : assay_identity_load(&id, cert, key, err);
    if (rc == 0)
        assay_identity_close(&id);
    if (rc == 0)
        rc = assay_pins_load(&pins, list, err);
    assay_pins_close(&pins);
    assay_free(cert);
    assay_free(key);
    assay_free(list);
    if (rc < 0)
        assay_err_prefix(err, "--keys '%.200s'", o->keys);
    return rc;
}

int assay_deploy_check_service(const struct assay_deploy *d,
                               struct assay_err *err)
{
    const struct assay_options *o = d->o;
    int rc;

    if (!o->service && (o->listen != NULL || o->keys != NULL))
        return assay_fail_message(
            err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_NO_SERVICE, "name",
            o->listen != NULL ? "--listen" : "--keys", NULL);
    if (!o->service)
        return 0;
    if (o->uninstall)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_BOTH,
                                  NULL);
    if (d->path[0] != '/' || !is_made_of(d->path, "._/+-"))
        return assay_fail_message(err, ASSAY_EUSAGE,
                                  ASSAY_MSG_DEPLOY_SERVICE_PATH, "path",
                                  d->path, NULL);
    rc = check_listen(o, err);
    return rc == 0 ? check_keys(o, err) : rc;
}

/* ---- files ---------------------------------------------------------------- */

static int add(struct plan *p, const char *path, const char *mode,
               const void *data, size_t bytes)
{
    p->v[p->n++] = (struct file){path, mode, data, bytes};
    return 0;
}

/* An embedded text with the agent's path in it. */
static int add_text(struct assay_deploy *d, struct plan *p, const char *path,
                    const char *mode, const char *text, struct assay_err *err)
{
    struct assay_buf b;
    const char *at;
    uint8_t *copy = NULL;
    bool good = true;

    assay_buf_init(&b);
    while (good && (at = strstr(text, OWN_PATH)) != NULL) {
        good = assay_buf_append(&b, text, (size_t)(at - text)) == 0 &&
               assay_buf_append(&b, d->path, strlen(d->path)) == 0;
        text = at + strlen(OWN_PATH);
    }
    if (good && assay_buf_append(&b, text, strlen(text)) == 0)
        copy = assay_arena_copy(d->arena, b.data, b.len);
    if (copy != NULL)
        add(p, path, mode, copy, b.len);
    assay_buf_close(&b);
    return copy != NULL ? 0 : no_memory(err);
}

static int add_config(struct assay_deploy *d, struct plan *p,
                      struct assay_err *err)
{
    const struct assay_options *o = d->o;
    const char *listen = o->listen != NULL ? o->listen
                         : o->keys != NULL ? "0.0.0.0:7410"
                                           : "127.0.0.1:7410";
    char text[640];

    snprintf(text, sizeof(text),
             "# Options of assayd, see assayd(1). By assay deploy.\n"
             "ASSAYD_ARGS=\"--listen %s%s\"\n",
             listen,
             o->keys != NULL ? " --tls-cert " KEYS "cert.pem --tls-key " KEYS
                               "key.pem --authorized " KEYS "authorized"
                             : "");
    return add_text(d, p, CONFIG, "644", text, err);
}

static int add_keys(struct assay_deploy *d, struct plan *p,
                    struct assay_err *err)
{
    static const struct {
        const char *name, *path, *mode;
    } files[] = {
        {"key.pem", KEYS "key.pem", "600"},
        {"cert.pem", KEYS "cert.pem", "644"},
        {"authorized", KEYS "authorized", "600"},
    };
    int rc = 0;

    for (size_t i = 0; i < 3 && rc == 0; i++) {
        char *path = assay_file_join(d->o->keys, files[i].name);
        uint8_t *data = NULL, *copy;
        size_t n = 0;

        rc = path == NULL ? no_memory(err)
                          : assay_file_read(&data, &n, path, KEY_MAX, err);
        if (rc == 0) {
            copy = assay_arena_copy(d->arena, data, n);
            rc = copy == NULL ? no_memory(err)
                              : add(p, files[i].path, files[i].mode, copy, n);
        }
        if (data != NULL)
            memset(data, 0, n); /* no second copy of a key stays */
        assay_free(data);
        assay_free(path);
    }
    return rc;
}

/* ---- on the board --------------------------------------------------------- */

static int refuse_host(const struct assay_deploy *d, enum assay_message_id id,
                       int code, struct assay_err *err)
{
    return assay_fail_message(err, code, id, "host", d->ssh.host, NULL);
}

/* Who starts services there, and what of ours is there already. */
static int look(struct assay_deploy *d, char unit[16], char config[16],
                struct assay_err *err)
{
    struct assay_remote_call c = {.doing = "asking about services"};
    char text[16];
    bool root, sums;
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_SERVICE, &d->path, 1, err);
    root = assay_board_answer(&c.output, "root", text, sizeof(text));
    sums = assay_board_answer(&c.output, "sha256sum", text, sizeof(text));
    assay_board_answer(&c.output, "unit", unit, 16);
    assay_board_answer(&c.output, "config", config, 16);
    if (!assay_board_answer(&c.output, "starter", d->starter,
                            sizeof(d->starter)))
        d->starter[0] = '\0';
    assay_buf_close(&c.output);
    if (rc < 0)
        return rc;
    if (!root)
        return refuse_host(d, ASSAY_MSG_DEPLOY_NOT_ROOT, ASSAY_EUSAGE, err);
    if (!sums)
        return refuse_host(d, ASSAY_MSG_DEPLOY_NO_SUM, ASSAY_EUNSUPPORTED, err);
    if (strcmp(d->starter, "systemd") != 0 &&
        strncmp(d->starter, "/etc/init.d/", 12) != 0)
        return refuse_host(d, ASSAY_MSG_DEPLOY_NO_STARTER, ASSAY_EUNSUPPORTED,
                           err);
    return 0;
}

static int put_file(struct assay_deploy *d, const struct file *f,
                    struct assay_err *err)
{
    struct assay_num bytes = assay_num_u(f->bytes);
    const char *words[] = {f->path, bytes.text, f->mode};
    struct assay_remote_call c = {
        .doing = f->path,
        .input = f->data,
        .input_bytes = f->bytes,
    };
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_FILE, words, 3, err);
    assay_buf_close(&c.output);
    return rc;
}

/* Before any of the files: what is listed and not there is no harm. */
static int put_list(struct assay_deploy *d, const struct plan *p,
                    struct assay_err *err)
{
    const char *words[] = {LIST};
    struct assay_remote_call c = {.doing = LIST};
    char text[MAX_FILES * 256];
    size_t at = 0;
    int rc;

    for (size_t i = 0; i < p->n; i++) {
        uint8_t digest[ASSAY_SHA256_LEN];
        char hex[2 * ASSAY_SHA256_LEN + 1];

        assay_sha256(p->v[i].data, p->v[i].bytes, digest);
        assay_hex(digest, sizeof(digest), hex);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s\n", hex,
                               p->v[i].path);
    }
    at += (size_t)snprintf(text + at, sizeof(text) - at, "end\n");
    c.input = (const uint8_t *)text;
    c.input_bytes = at;
    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_LIST, words, 1, err);
    assay_buf_close(&c.output);
    return rc;
}

static int start(struct assay_deploy *d, struct assay_err *err)
{
    const char *words[] = {d->starter};
    struct assay_remote_call c = {.doing = "starting the service"};
    char text[16];
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_START, words, 1, err);
    if (rc == 0 && !assay_board_answer(&c.output, "running", text, 16))
        rc = assay_fail_message(
            err, ASSAY_ECONNECT, ASSAY_MSG_DEPLOY_NOT_UP, "starter", d->starter,
            "said", c.said[0] != '\0' ? c.said : "it does not say why", NULL);
    d->at_boot = assay_board_answer(&c.output, "boot", text, sizeof(text));
    assay_buf_close(&c.output);
    return rc;
}

/* Through --stdio, which hands us on to the daemon. */
static int ask_daemon(struct assay_deploy *d, struct assay_err *err)
{
    char target[900], version[64] = "";
    int rc;

    snprintf(target, sizeof(target), "ssh:%s:%s", d->ssh.host, d->path);
    rc = assay_deploy_hello(d, target, version, err);
    if (rc == 0 && strcmp(version, d->file.version) != 0)
        rc = assay_fail_message(err, ASSAY_EVERSION, ASSAY_MSG_DEPLOY_OTHER_UP,
                                "found", version, "expected", d->file.version,
                                NULL);
    return rc;
}

static int refuse_other(const char *path, struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_UNIT_OTHER,
                              "path", path, NULL);
}

int assay_deploy_service(struct assay_deploy *d, struct assay_err *err)
{
    bool wants = d->o->listen != NULL || d->o->keys != NULL, systemd;
    char unit[16] = "", config[16] = "";
    struct plan p = {.n = 0};
    const char *path;
    int rc = look(d, unit, config, err);

    if (rc < 0)
        return rc;
    systemd = strcmp(d->starter, "systemd") == 0;
    path = systemd ? UNIT : d->starter;
    if (strcmp(unit, "other") == 0 && !d->o->force)
        return refuse_other(path, err);
    /* The user's own configuration is kept, unless it would contradict. */
    if (strcmp(config, "other") == 0 && wants && !d->o->force)
        return refuse_other(CONFIG, err);
    rc = add_text(d, &p, path, systemd ? "644" : "755",
                  systemd ? assay_init_service : assay_init_script, err);
    if (rc == 0 && (wants || strcmp(config, "none") == 0))
        rc = add_config(d, &p, err);
    if (rc == 0 && d->o->keys != NULL)
        rc = add_keys(d, &p, err);
    if (rc == 0 && d->o->keys != NULL && systemd)
        rc = add(&p, DROP_IN, "644", drop_in, sizeof(drop_in) - 1);
    if (rc == 0)
        rc = put_list(d, &p, err);
    for (size_t i = 0; i < p.n && rc == 0; i++)
        rc = put_file(d, &p.v[i], err);
    if (rc == 0)
        rc = start(d, err);
    return rc == 0 ? ask_daemon(d, err) : rc;
}

/* ---- away ----------------------------------------------------------------- */

static void print_files(const struct assay_buf *output)
{
    static const struct {
        const char *key;
        enum assay_message_id id;
    } rows[] = {
        {"removed", ASSAY_MSG_DEPLOY_SERVICE_FILE},
        {"kept", ASSAY_MSG_DEPLOY_SERVICE_KEPT},
    };
    char path[256], text[400];

    for (size_t r = 0; r < 2; r++) {
        for (unsigned i = 0;
             i < 64 &&
             assay_board_answer_at(output, rows[r].key, i, path, sizeof(path));
             i++)
            printf("%s\n", assay_message(text, sizeof(text), rows[r].id, "path",
                                         path, NULL));
    }
}

int assay_deploy_no_service(struct assay_deploy *d, struct assay_err *err)
{
    char unit[16] = "", config[16] = "";
    const char *starter[] = {d->starter}, *list[] = {LIST};
    struct assay_remote_call c = {.doing = "stopping the service"};
    int rc;

    if (!d->board.is_listed)
        return 0;
    rc = look(d, unit, config, err);
    assay_buf_init(&c.output);
    if (rc == 0)
        rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_STOP, starter, 1, err);
    assay_buf_close(&c.output);
    if (rc < 0)
        return rc;
    c = (struct assay_remote_call){.doing = "removing its files"};
    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_TAKE_AWAY, list, 1, err);
    if (rc == 0)
        print_files(&c.output);
    assay_buf_close(&c.output);
    return rc;
}
