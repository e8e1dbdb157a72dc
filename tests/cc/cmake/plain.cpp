int resolved_main();

int main()
{
    return resolved_main();
}
