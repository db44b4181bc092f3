/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"

struct option_row {
    const char *name, *argument, *help;
};

static const struct option_row rows[] = {
#define ASSAY_AGENT_OPTION(name, argument, help) {name, argument, help},
#include "agent/options.def"
#undef ASSAY_AGENT_OPTION
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int parse_memory(const char *text, uint64_t *out, struct assay_err *err)
{
    uint64_t v = 0, unit = 1;
    const char *p = text;

    for (; isdigit((unsigned char)*p) && v < UINT64_C(1) << 40; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    if (p != text && (*p == 'k' || *p == 'K'))
        unit = UINT64_C(1) << 10, p++;
    else if (p != text && (*p == 'm' || *p == 'M'))
        unit = UINT64_C(1) << 20, p++;
    else if (p != text && (*p == 'g' || *p == 'G'))
        unit = UINT64_C(1) << 30, p++;
    if (p == text || *p != '\0' || v * unit < UINT64_C(8) << 20 ||
        v * unit > UINT64_C(1) << 40)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--memory '%s': a size like 256M, from 8M to 1024G, "
                          "expected",
                          text);
    *out = v * unit;
    return 0;
}

static const char *const deadlines[ASSAY_DEADLINES] = {
#define ASSAY_DEADLINE(NAME, name, ms, what) name,
#include "agent/deadlines.def"
#undef ASSAY_DEADLINE
};

static int parse_deadline(const char *text, uint64_t out[ASSAY_DEADLINES],
                          struct assay_err *err)
{
    const char *number = strchr(text, '=');
    size_t n = number != NULL ? (size_t)(number - text) : 0;
    char *end = NULL;
    double s = number != NULL ? strtod(number + 1, &end) : 0;

    for (int i = 0; i < ASSAY_DEADLINES && n > 0; i++) {
        if (strlen(deadlines[i]) != n || strncmp(deadlines[i], text, n) != 0)
            continue;
        if (end == number + 1 || *end != '\0' || !(s >= 0.1 && s <= 1e6))
            break;
        out[i] = (uint64_t)(s * 1000);
        return 0;
    }
    return assay_fail(err, ASSAY_EUSAGE,
                      "--deadline '%s': NAME=SECONDS expected, of hello, idle, "
                      "message, blob, run, close and self-test, from 0.1 to "
                      "1000000",
                      text);
}

static int check_board_id(const char *from, const char *id,
                          struct assay_err *err)
{
    size_t n = strlen(id);

    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)id[i]) && strchr("._-", id[i]) == NULL)
            n = 0;
    }
    if (n == 0 || n > 64)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s '%s': 1 to 64 of letters, digits, '.', '_' and "
                          "'-' expected",
                          from, id);
    return 0;
}

static int take(struct assay_agent_options *o, const char *name,
                const char *value, struct assay_err *err)
{
    if (strcmp(name, "listen") == 0)
        o->listen = value;
    else if (strcmp(name, "stdio") == 0)
        o->stdio = true;
    else if (strcmp(name, "tls-cert") == 0)
        o->tls_cert = value;
    else if (strcmp(name, "tls-key") == 0)
        o->tls_key = value;
    else if (strcmp(name, "tls-ca") == 0)
        o->tls_ca = value;
    else if (strcmp(name, "authorized") == 0)
        o->authorized = value;
    else if (strcmp(name, "help") == 0)
        o->help = true;
    else if (strcmp(name, "version") == 0)
        o->version = true;
    else if (strcmp(name, "self-test") == 0)
        o->self_test = true;
    else if (strcmp(name, "no-self-test") == 0)
        o->no_self_test = true;
    else if (strcmp(name, "deadline") == 0)
        return parse_deadline(value, o->deadline_ms, err);
    else if (strcmp(name, "memory") == 0)
        return parse_memory(value, &o->memory, err);
    else if (strcmp(name, "board-id") == 0) {
        o->board_id = value;
        return check_board_id("--board-id", value, err);
    } else if (strcmp(name, "cpumask") == 0) {
        if (assay_cpu_parse_mask(value, &o->cpumask) < 0)
            return assay_fail(err, ASSAY_EUSAGE,
                              "--cpumask '%s': 0, all, or a list of neon, "
                              "dotprod, i8mm expected",
                              value);
    } else if (strcmp(name, "log-level") == 0) {
        if (assay_log_parse_level(value, &o->log_level) < 0)
            return assay_fail(err, ASSAY_EUSAGE,
                              "--log-level '%s': error, warn, info or debug "
                              "expected",
                              value);
    }
    return 0;
}

static int check_tls(const struct assay_agent_options *o, struct assay_err *err)
{
    bool trust = o->tls_ca != NULL || o->authorized != NULL;

    if (o->tls_cert == NULL && o->tls_key == NULL && !trust)
        return 0;
    if (o->tls_cert == NULL || o->tls_key == NULL)
        return assay_fail(err, ASSAY_EUSAGE,
                          "TLS needs --tls-cert and --tls-key, one of them is "
                          "missing ('assay keygen' makes both)");
    if (!trust)
        return assay_fail(err, ASSAY_EUSAGE,
                          "TLS needs --authorized or --tls-ca, which say who "
                          "may come in");
    if (o->stdio || strncmp(o->listen, "unix:", 5) == 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "TLS is for --listen HOST:PORT: %s is as private as "
                          "its file or process",
                          o->stdio ? "--stdio" : o->listen);
    return 0;
}

static int check_together(const struct assay_agent_options *o,
                          struct assay_err *err)
{
    if (o->help || o->version || o->self_test)
        return 0;
    if (o->stdio && o->listen != NULL)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--listen and --stdio exclude each other");
    if (!o->stdio && o->listen == NULL)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--listen ADDRESS, --stdio or --self-test expected, "
                          "see --help");
    return check_tls(o, err);
}

int assay_agent_options_parse(struct assay_agent_options *out, int argc,
                              char **argv, struct assay_err *err)
{
    struct assay_agent_options o = {
        .cpumask = ASSAY_CPU_ALL,
        .memory = UINT64_C(256) << 20,
        .log_level = ASSAY_LOG_WARN,
    };
    struct option table[N_ROWS + 1] = {0};
    int c, index, rc;

    for (size_t i = 0; i < N_ROWS; i++) {
        table[i].name = rows[i].name;
        table[i].has_arg =
            rows[i].argument != NULL ? required_argument : no_argument;
    }
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":", table, &index)) != -1) {
        if (c == ':')
            return assay_fail(err, ASSAY_EUSAGE,
                              "option '%s' needs an argument",
                              argv[optind - 1]);
        if (c != 0)
            return assay_fail(err, ASSAY_EUSAGE, "unknown option '%s'",
                              argv[optind - 1]);
        rc = take(&o, rows[index].name, optarg, err);
        if (rc < 0)
            return rc;
    }
    if (optind < argc)
        return assay_fail(err, ASSAY_EUSAGE, "unexpected argument '%s'",
                          argv[optind]);
    rc = check_together(&o, err);
    if (rc == 0 && o.board_id == NULL) {
        const char *id = getenv("ASSAYD_BOARD_ID");

        if (id != NULL && *id != '\0') {
            o.board_id = id;
            rc = check_board_id("ASSAYD_BOARD_ID", id, err);
        }
    }
    if (rc == 0)
        *out = o;
    return rc;
}

void assay_agent_options_help(FILE *to)
{
    fputs("usage: assayd --listen ADDRESS | --stdio | --self-test [options]\n"
          "Runs layers of quantized models for assay, one worker a run.\n\n",
          to);
    for (size_t i = 0; i < N_ROWS; i++) {
        char left[40];

        snprintf(left, sizeof(left), "--%s%s%s", rows[i].name,
                 rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        fprintf(to, "  %-20s %s\n", left, rows[i].help);
    }
    fputs("\nOnce ready it prints 'assayd listening on ADDRESS'; --stdio "
          "prints nothing but frames.\n"
          "ASSAYD_BOARD_ID in the environment stands for --board-id.\n"
          "Exit status: 0 ended by SIGTERM, SIGINT or the end of stdin; "
          "2 bad option or refused start; 4 self-test failed, or internal "
          "error at the end.\n",
          to);
}
