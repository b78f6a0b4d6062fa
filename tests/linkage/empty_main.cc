// Linked with all objects of one library and what it declares; that it links is the test.

int main() { return 0; }
