/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/private_write.h"
#include "host-tools/user_dir.h"
#include "lib/net/keygen.h"

struct place {
    char folder[PATH_MAX], key[PATH_MAX], cert[PATH_MAX];
};

static int find_place(struct place *p, const char *folder,
                      struct assay_err *err)
{
    int rc = folder != NULL ? assay_user_join(p->folder, folder, "", err)
                            : assay_user_config(p->folder, "", err);

    if (rc == 0)
        rc = assay_user_join(p->key, p->folder, "key.pem", err);
    if (rc == 0)
        rc = assay_user_join(p->cert, p->folder, "cert.pem", err);
    return rc;
}

/* Refused before anything is made; who lost the fingerprint finds it here. */
static int check_free(const struct place *p, struct assay_err *err)
{
    const char *taken = access(p->key, F_OK) == 0    ? p->key
                        : access(p->cert, F_OK) == 0 ? p->cert
                                                     : NULL;
    struct assay_identity id;
    char fingerprint[ASSAY_FINGERPRINT_TEXT + 16] = "";

    if (taken == NULL)
        return 0;
    if (assay_identity_load(&id, p->cert, p->key, NULL) == 0) {
        snprintf(fingerprint, sizeof(fingerprint), ", %s", id.fingerprint);
        assay_identity_close(&id);
    }
    return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_KEY_THERE, "path",
                              taken, "fingerprint", fingerprint, NULL);
}

static int write_pair(const struct place *p, const struct assay_keygen *k,
                      struct assay_err *err)
{
    int rc = assay_private_create(p->key, "private key", 0600, k->key_pem,
                                  strlen(k->key_pem), err);

    if (rc < 0)
        return rc;
    rc = assay_private_create(p->cert, "certificate", 0644, k->cert_pem,
                              strlen(k->cert_pem), err);
    if (rc < 0)
        unlink(p->key); /* made a moment ago, and of no use alone */
    return rc;
}

/* USER@HOST, of characters that a certificate's name can have. */
static void default_name(char out[ASSAY_KEYGEN_NAME_MAX + 1])
{
    const struct passwd *pw = getpwuid(getuid());
    char host[64] = "";

    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        snprintf(host, sizeof(host), "host");
    snprintf(out, ASSAY_KEYGEN_NAME_MAX + 1, "%.31s@%.32s",
             pw != NULL ? pw->pw_name : "user", host);
    for (char *c = out; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("._@-", *c) == NULL)
            *c = '-';
    }
}

static void tell(const struct place *p)
{
    char text[2 * PATH_MAX + 256];

    fprintf(stderr, "%s\n",
            assay_message(text, sizeof(text), ASSAY_MSG_KEYGEN_DONE, "key",
                          p->key, "cert", p->cert, NULL));
}

int assay_cmd_keygen(const struct assay_options *o, int argc, char **argv)
{
    struct place place;
    struct assay_keygen made = {0};
    struct assay_err err = {0};
    char name[ASSAY_KEYGEN_NAME_MAX + 1];
    int rc;

    (void)argc;
    (void)argv;
    default_name(name);
    rc = find_place(&place, o->output_dir, &err);
    if (rc == 0)
        rc = check_free(&place, &err);
    if (rc == 0)
        rc = assay_keygen(&made, o->name != NULL ? o->name : name, &err);
    if (rc == 0)
        rc = assay_user_make_folder(place.folder, &err);
    if (rc == 0)
        rc = write_pair(&place, &made, &err);
    if (rc == 0) {
        if (!o->quiet)
            tell(&place);
        printf("%s %s\n", o->name != NULL ? o->name : name, made.fingerprint);
    }
    assay_keygen_close(&made);
    return rc < 0 ? assay_cmd_failed(&err) : 0;
}
