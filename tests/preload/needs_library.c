/* A library without a runtime that needs one with a runtime. */
int library_call(void);
__attribute__((visibility("default"))) int needs_call(void);

int needs_call(void)
{
    return library_call();
}
