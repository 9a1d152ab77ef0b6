/* A web server without the web: `threads PHP.INI SCRIPT ROUNDS THREADS REQUESTS QUERY` runs requests of a PHP script
 * in threads, as servers with a thread-safe PHP do.
 *
 * Each of THREADS threads runs REQUESTS requests and ends; that ROUNDS times, one after the other. At the end a last
 * thread runs one request. A request has the parameters QUERY, and in addition `round`, `thread` and `request`; those
 * of the last one are -1. What a request printed becomes a line of the output. */
#include <sapi/embed/php_embed.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT = 8192, QUERY = 1024 };

struct output {
    char text[OUTPUT];
    size_t length;
};

struct thread {
    pthread_t id;
    int round;
    int number;
};

static const char *script;
static const char *query;
static int requests;
static __thread struct output output;

static size_t write_output(const char *text, size_t length)
{
    size_t left = sizeof output.text - output.length;
    memcpy(output.text + output.length, text, length < left ? length : left);
    output.length += length < left ? length : left;
    return length;
}

/* Errors go into the output too, where no test expects one. */
static void log_message(const char *message, int type)
{
    (void)type;
    write_output(message, strlen(message));
}

static void run_request(const struct thread *thread, int request)
{
    char parameters[QUERY];
    snprintf(parameters, sizeof parameters, "%s&round=%d&thread=%d&request=%d", query, thread->round, thread->number,
             request);
    output.length = 0;
    SG(request_info).query_string = parameters;
    SG(request_info).request_method = "GET";
    SG(server_context) = &output;
    if (php_request_startup() != SUCCESS) {
        fprintf(stderr, "threads: a request could not be started\n");
        exit(1);
    }
    /* A fatal error leaves the script by a jump. */
    zend_first_try
    {
        zend_file_handle file;
        zend_stream_init_filename(&file, script);
        php_execute_script(&file);
        zend_destroy_file_handle(&file);
    }
    zend_end_try();
    php_request_shutdown(NULL);
    /* What was too long has lost its end. */
    if (output.length == sizeof output.text)
        output.length--;
    for (char *at = output.text; (at = memchr(at, '\n', output.length - (size_t)(at - output.text))) != NULL;)
        *at = ' ';
    write_output("\n", 1);
    fwrite(output.text, 1, output.length, stdout);
}

static void *run_thread(void *argument)
{
    const struct thread *thread = argument;
    ts_resource(0);
    if (thread->round < 0)
        run_request(thread, -1);
    else
        for (int request = 0; request < requests; request++)
            run_request(thread, request);
    ts_free_thread();
    return NULL;
}

static void run_threads(int threads, int round)
{
    struct thread *all = calloc((size_t)threads, sizeof *all);
    for (int i = 0; i < threads; i++) {
        all[i].round = round;
        all[i].number = round < 0 ? round : i;
        if (pthread_create(&all[i].id, NULL, run_thread, &all[i]) != 0) {
            fprintf(stderr, "threads: a thread could not be started\n");
            exit(1);
        }
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].id, NULL);
    free(all);
}

int main(int count, char **arguments)
{
    if (count != 7) {
        fprintf(stderr, "usage: threads PHP.INI SCRIPT ROUNDS THREADS REQUESTS QUERY\n");
        return 2;
    }
    script = arguments[2];
    query = arguments[6];
    requests = atoi(arguments[5]);
    int rounds = atoi(arguments[3]), threads = atoi(arguments[4]);
    php_embed_module.php_ini_path_override = arguments[1];
    php_embed_module.ub_write = write_output;
    php_embed_module.log_message = log_message;
    if (php_embed_init(0, NULL) != SUCCESS)
        return 1;
    /* It starts a request of this thread, which serves none. */
    php_request_shutdown(NULL);
    for (int round = 0; round < rounds; round++)
        run_threads(threads, round);
    run_threads(1, -1);
    php_request_startup();
    php_embed_shutdown();
    return 0;
}
